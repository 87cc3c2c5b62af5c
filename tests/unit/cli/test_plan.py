from pathlib import Path

PROGRAM = """@prefix : <urn:> .
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z), ?x != ?z .
:last(?y) :- edge(?x, ?y), NOT edge(?y, ?z) .
degree(?x, ?n) :- AGGREGATE(path(?x, ?y) ON ?x BIND COUNT(?y) AS ?n), :last(?z) .
"""


def test_the_tree_shows_strata_rules_and_steps(command):
    Path("p.dlog").write_text(PROGRAM)
    done = command("plan", "p.dlog", "--data", "edge.csv")
    assert done.status == 0
    assert "level 0, given: edge/2 (3 facts)" in done.out
    assert "level 1, recursive: path/2" in done.out
    assert "level 2, not recursive: :last/1" in done.out
    assert "new facts of path(?x, ?y)" in done.out
    assert "1. path(?x, ?y)  [scan, new facts]" in done.out
    assert "2. edge(?y, ?z)  [by column 1]" in done.out
    assert "3. FILTER(?x != ?z)" in done.out
    assert "absent: $not1(?y)" in done.out
    assert "$not1: what is inside NOT (edge(?y, ?z))" in done.out
    assert "$aggregate2: AGGREGATE(path(?x, ?y) ON ?x BIND COUNT(?y) AS ?n)" in done.out
    assert "updates only" not in done.out
    assert "\x1b" not in done.out
    assert "new facts of NOT $not1(?y) (updates only)" in command("plan", "p.dlog", "--updates").out


def test_the_plan_as_json(command):
    Path("p.dlog").write_text(PROGRAM)
    plan = command("plan", "p.dlog", "--json").json
    assert [s["level"] for s in plan["strata"]] == [0, 1, 1, 2, 2, 3]
    (stratum,) = [s for s in plan["strata"] if s["is_recursive"]]
    recursive = stratum["rules"][1]
    assert [v["used"] for v in recursive["versions"]] == ["materialise", "update"]
    assert (recursive["line"], recursive["is_recursive"]) == (3, True)
    assert plan["sizes"] == {}


def test_join_orders_follow_the_data(command):
    Path("p.dlog").write_text("p(?x, ?y) :- large(?x, ?y), small(?y) .")
    Path("large.csv").write_text("".join(f"{i},{i % 10}\n" for i in range(100)))
    Path("small.csv").write_text("1\n2\n")

    def first(*data):
        plan = command("plan", "p.dlog", *data, "--json").json
        return plan["strata"][-1]["rules"][0]["versions"][0]["steps"][0]["read"]

    assert first("--data", "large.csv", "--data", "small.csv") == "small(?y)"
    Path("small.csv").write_text("".join(f"{i}\n" for i in range(5000)))
    assert first("--data", "large.csv", "--data", "small.csv") == "large(?x, ?y)"


def test_variables_in_predicate_position(command):
    Path("p.dlog").write_text("[?y, ?p, ?x] :- [?x, ?p, ?y] .")
    Path("d.nt").write_text("<urn:a> <urn:p> <urn:b> .\n<urn:a> a <urn:C> .\n"[:26])
    plan = command("plan", "p.dlog", "--data", "d.nt", "--json").json
    assert plan["stored_as_triples"]
    assert plan["sizes"] == {"$triple/3": 1}


def test_a_program_that_reads_triples_and_an_empty_one(command):
    Path("p.dlog").write_text("p(?x) :- [?x, ?p, ?y], [?x, <urn:q>, ?y] .")
    assert command("plan", "p.dlog").status == 0
    Path("e.dlog").write_text("")
    assert command("plan", "e.dlog").status == 0


def test_mistakes_are_found_without_running(command):
    Path("p.dlog").write_text("p(?x) :- q(?x), NOT p(?x) .")
    done = command("plan", "p.dlog")
    assert (done.status, done.err[:5]) == (1, "S301:")
    assert command("plan", "edge.csv").status == 2


def test_the_plan_says_what_becomes_of_modules(command):
    transitive = "t(?x, ?z) :- t(?x, ?y), t(?y, ?z) ."
    Path("p.dlog").write_text(transitive)
    assert "module: t/2 is transitive; a closure, not spelled out" in command("plan", "p.dlog").out
    Path("p.dlog").write_text(transitive + "t(?x, ?y) :- t(?y, ?x), q(?x) .")
    told = "module: t/2 is transitive; its rules join external facts only"
    assert told in command("plan", "p.dlog").out
