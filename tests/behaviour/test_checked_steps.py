"""``tpucompat check``: which steps a TPU takes, what stops the others, and where that stands."""

import inspect
import json

import check_cases
import pytest
import tensorflow as tf2

from tpucompat.engines import lowering, observer
from tpucompat.engines.script_lines import Sources
from tpucompat.idioms.computations import batch_parallel
from tpucompat.tf import private

tf = tf2.compat.v1

pytestmark = pytest.mark.skipif(
    not lowering.available(),
    reason="older releases do not show a function's lowered form",
)
CORES = 8


@pytest.fixture
def watched(tmp_path):
    """Traces a step as the check does; gives what was written down, line by line."""
    from tpucompat.commands.check import watcher as watching
    from tpucompat.engines.script_lines import Sources

    watcher = watching.Watcher(str(tmp_path), Sources(), CORES)

    def records():
        lines = (tmp_path / watching.RECORDS).read_text().splitlines()
        return [json.loads(line) for line in lines]

    def trace(step, shape=(CORES * 8, 16)):
        batch = tf.placeholder(tf.float32, shape, name="batch")
        try:
            batch_parallel.batch_parallel(step, [batch], num_shards=CORES)
        except Exception as error:
            watcher.end(error)
        else:
            watcher.end(None)
        return records()

    trace.watcher, trace.records = watcher, records
    observer.register(watcher)
    tf.enable_control_flow_v2()
    yield trace
    tf.disable_control_flow_v2()
    observer.register(None)


def line_of(step):
    """The line of a step that a TPU refuses: "file:number"."""
    lines, first = inspect.getsourcelines(step)
    place = [number for number, line in enumerate(lines) if line.rstrip().endswith("# stops")]
    assert len(place) == 1, step
    return f"{inspect.getsourcefile(step)}:{first + place[0]}"


@pytest.mark.parametrize(
    "step, code, kind", check_cases.BROKEN, ids=lambda v: getattr(v, "__name__", "")
)
def test_what_a_tpu_refuses(watched, step, code, kind):
    shape = (None, 16) if step is check_cases.unknown_batch else (CORES * 8, 16)
    if None in shape:
        record = _replicated_with_open_batch(watched, step)
    else:
        record = watched(step, shape)[0]
    found = [f for f in record["findings"] if f["code"] == code and kind in f["text"]]
    assert found, record["findings"]
    place = line_of(step)
    assert any(place.endswith(finding["line"]) for finding in found), (place, found)
    assert all(finding["instead"] for finding in found) and "program" not in record


def _replicated_with_open_batch(watched, step):
    batch = tf.placeholder(tf.float32, (None, 16))
    with pytest.raises(TypeError):
        batch_parallel.rewrite(step, [batch])
    return watched.records()[0]


@pytest.mark.parametrize("step", check_cases.SOUND, ids=lambda step: step.__name__)
def test_what_a_tpu_takes(watched, step):
    record = watched(step)[0]
    assert record["findings"] == [] and not record["unsure"]
    with open(record["program"], "rb") as stream:
        assert len(stream.read()) > 100
    trains = "trained(" in inspect.getsource(step) or step is check_cases.clipped
    assert (record["reductions"] > 0) == trains


def test_a_computation_on_one_core_only(watched):
    batch_parallel.rewrite(lambda x: x * 2, [tf.zeros([4])])
    batch_parallel.batch_parallel(lambda x: x * 2, [tf.zeros([4])], num_shards=2)
    assert [record["replicas"] for record in watched.records()] == [1, 2]


def test_a_line_of_a_compiled_module_is_none_of_the_script():
    """Its traceback tells a path of the machine that it was built on."""
    code = compile("raise OSError('unable to open')", "somewhere/h5f.pyx", "exec")
    try:
        exec(code)
    except OSError as error:
        assert Sources().of_error(error).place.split(":")[0].endswith("test_checked_steps.py")


def test_the_sums_in_the_program(watched):
    """Of all cores, and of groups: each is an all-reduce that adds, and none is a call any more."""

    def step(x):
        groups = [[0, 1, 2, 3], [4, 5, 6, 7]]
        integers = tf.tpu.cross_replica_sum(tf.cast(x, tf.int32))
        return tf.tpu.cross_replica_sum(x), tf.tpu.cross_replica_sum(x, groups), integers

    record = watched(step)[0]
    with open(record["program"], "rb") as stream:
        module = private.hlo_module(stream.read())
    bodies = {body.id: body for body in module.computations}
    made = [each for body in module.computations for each in body.instructions]
    assert "custom-call" not in {each.opcode for each in made}
    assert len({each.id for each in made}) == len(made) and len(bodies) == len(module.computations)
    found = {}
    for each in made:
        if each.opcode == "all-reduce":
            groups = [list(group.replica_ids) for group in each.replica_groups]
            adds = bodies[each.called_computation_ids[0]]
            root = {one.id: one for one in adds.instructions}[adds.root_id]
            assert root.opcode == "add"
            assert root.shape.element_type == each.shape.element_type
            found.setdefault(str(groups), []).append(list(each.shape.dimensions))
    assert found == {
        str([list(range(CORES))]): [[8, 16]] * 2,
        "[[0, 1, 2, 3], [4, 5, 6, 7]]": [[8, 16]],
    }
    assert record["reductions"] == 3


def test_an_infeed_and_a_sum_in_a_loop(watched):
    """What trains many steps by itself: each step takes its batch, and sums over the cores."""

    def steps():
        def step(number, total):
            x, y = tf.raw_ops.InfeedDequeueTuple(dtypes=["float", "int32"], shapes=[[4, 2], [4]])
            value = tf.reduce_sum(x) + tf.cast(tf.reduce_sum(y), tf.float32)
            return number + 1, total + tf.tpu.cross_replica_sum(value)

        return tf.while_loop(lambda number, _: number < 5, step, [0, 0.0])[1]

    batch_parallel.shard(steps, num_shards=CORES)
    (record,) = watched.records()
    assert record["findings"] == [] and record["reductions"] == 1, record
    with open(record["program"], "rb") as stream:
        module = private.hlo_module(stream.read())
    made = [each for body in module.computations for each in body.instructions]
    kinds = [each.opcode for each in made]
    assert "while" in kinds and "custom-call" not in kinds
    assert len({each.id for each in made}) == len(made)
    assert kinds.count("infeed") == kinds.count("after-all") == 2 and "all-reduce" in kinds
    brought = [
        list(each.shape.tuple_shapes[0].dimensions) for each in made if each.opcode == "infeed"
    ]
    assert sorted(brought) == [[4], [4, 2]]


def test_two_infeeds_in_a_loop(watched):
    """TensorFlow numbers the names of operations: the second infeed is ``InfeedDequeueTuple_1``."""

    def steps():
        def step(number, total):
            x, y = tf.raw_ops.InfeedDequeueTuple(dtypes=["float", "float"], shapes=[[2], [3]])
            (z,) = tf.raw_ops.InfeedDequeueTuple(dtypes=["float"], shapes=[[5]])
            return number + 1, total + sum(map(tf.reduce_sum, (x, y, z)))

        return tf.while_loop(lambda number, _: number < 5, step, [0, 0.0])[1]

    batch_parallel.shard(steps, num_shards=CORES)
    (record,) = watched.records()
    assert record["findings"] == [] and record["unsure"] == "", record
    with open(record["program"], "rb") as stream:
        module = private.hlo_module(stream.read())
    made = [each for body in module.computations for each in body.instructions]
    brought = [
        list(each.shape.tuple_shapes[0].dimensions) for each in made if each.opcode == "infeed"
    ]
    assert sorted(brought) == [[2], [3], [5]]


def test_a_batch_known_only_when_it_is_fed(watched):
    batch = tf.placeholder(tf.float32, [None, 16])
    (result,) = batch_parallel.rewrite(lambda x: tf.reduce_sum(x), [batch])
    with tf.Session() as session:
        assert session.run(result, {batch: [[1.0] * 16] * 5}) == 0  # nothing is computed
    (record,) = watched.records()
    assert record["findings"] == [] and record["arguments"] == 5 * 16 * 4


def test_a_batch_that_is_never_fed(watched):
    batch = tf.placeholder(tf.float32, [None, 16])
    batch_parallel.rewrite(lambda x: tf.reduce_sum(x), [batch])
    watched.watcher.end(None)
    record, end = watched.records()
    assert [finding["code"] for finding in record["findings"]] == ["TPU391"]
    assert end["end"] and "error" not in end


def test_what_stays_on_the_host(watched):
    def step(x):
        given = batch_parallel.outside_compilation(
            lambda v: tf.py_func(lambda value: value, [v], tf.float32), x
        )
        given.set_shape([8, 16])
        return given * 2

    record = watched(step)[0]
    assert record["findings"] == [] and record.get("program"), record
    assert record["notes"] == ["runs on the host (outside_compilation): PyFunc"]


def test_a_step_that_returns_nothing(watched):
    record = watched(lambda x: None)[0]
    assert record["notes"] == ["it has no results and no side effects, so a TPU prunes it [TPU350]"]


def test_a_batch_that_the_cores_cannot_share(watched):
    record, end = watched(lambda x: x, (30, 16))
    assert record["findings"][0]["code"] == "TPU397" and "test_checked_steps.py" in end["line"]
