"""Resolvers and sessions of the old namespace: addresses of all kinds, nothing dialled."""

from __future__ import annotations

import copy
import os
import socket
import types

import pytest
import tensorflow

from tpucompat.base import journal
from tpucompat.base.errors import SetupError
from tpucompat.engines import accelerator
from tpucompat.runtime import namespace

TF1 = tensorflow.__version__.startswith("1.")
# The logical CPU devices that conftest.py has made: there are none before 1.14.
DEVICES = 8 if hasattr(tensorflow, "config") else 1
tf = namespace.root(namespace.V1)

ADDRESSES = ["grpc://tpucompat.invalid:8470", "grpc://10.240.1.2:8470", "my-tpu", b"my-tpu"]


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """No settings, and a network whose use is an error."""

    def refuse(*arguments, **_):
        raise AssertionError(f"the network was asked: {arguments}")

    for module, name in [
        (socket.socket, "connect"),
        (socket, "create_connection"),
        (socket, "getaddrinfo"),
    ]:
        monkeypatch.setattr(module, name, refuse)
    for name in ("TPUCOMPAT_CORES", "TPUCOMPAT_REQUIRE_TPU", "TPUCOMPAT_NO_TPU"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(accelerator, "_prepared", 0)
    monkeypatch.setattr(accelerator, "_strategy", None)
    journal.reset()


# Resolvers ---------------------------------------------------------------------------------------


def test_every_path_leads_to_the_same_resolver():
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver
    assert tf.distribute.cluster_resolver.TPUClusterResolver is resolver
    scope = {}
    exec(
        "from tpucompat.v1.contrib import cluster_resolver as one\n"
        "from tpucompat.v1.contrib.cluster_resolver.python.training import tpu_cluster_resolver\n"
        "from tpucompat.v1.python.distribute.cluster_resolver import "
        "tpu_cluster_resolver as private\n",
        scope,
    )
    assert scope["one"].TPUClusterResolver is resolver
    assert scope["tpu_cluster_resolver"].TPUClusterResolver is resolver
    assert scope["private"].TPUClusterResolver is resolver


@pytest.mark.parametrize("tpu", [None, "", "local", *ADDRESSES, ["my-tpu"], ("my-tpu",)])
def test_names_and_addresses_mean_this_machine(tpu):
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu)
    text = tpu[0] if isinstance(tpu, (list, tuple)) else tpu
    text = text.decode() if isinstance(text, bytes) else text or ""
    address = text if "://" in text else ""  # of a name nothing is known
    assert resolver.master() == resolver.get_master() == address
    assert resolver.master(task_type="worker", task_id=0, rpc_layer="grpc") == address
    assert resolver.is_here
    assert resolver.num_accelerators() == {"TPU": 1}
    assert resolver.task_type == "worker"
    assert resolver.task_id == resolver.task_index == 0
    assert copy.deepcopy(resolver) is resolver
    assert [code for code, _ in journal.notices()].count("TPU410") == 1


@pytest.mark.parametrize(
    "tpu, cluster, environment",
    [
        (None, {"worker": ["localhost"]}, ""),  # as on Colab, where an address is found
        ("", None, "google"),
        ("local", None, "google"),
        ("my-tpu", {"worker": ["localhost"]}, ""),
        ("grpc://10.240.1.2:8470", {"worker": ["10.240.1.2:8470"]}, ""),
        ("grpc://localhost:2222", {"worker": ["localhost:2222"]}, ""),
    ],
)
def test_the_cluster_of_a_graph_script(tpu, cluster, environment):
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu)
    spec = resolver.cluster_spec()
    assert (spec.as_dict() if spec else None) == cluster
    assert resolver.environment == environment
    assert isinstance(resolver, tf.contrib.cluster_resolver.ClusterResolver)


def test_all_arguments_of_tensorflow_1():
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver(
        tpu=["node-1"],
        zone="us-central1-b",
        project="my-project",
        job_name="tpu_worker",
        coordinator_name="coordinator",
        coordinator_address="10.1.2.3:10203",
        credentials=None,
        service=object(),
        discovery_url="https://example.com",
    )
    assert resolver.cluster_spec().as_dict() == {
        "coordinator": ["10.1.2.3:10203"],
        "tpu_worker": ["localhost"],
    }
    assert resolver.task_type == "tpu_worker"
    assert resolver.get_job_name() is None  # as 1.15 says of an address in graph mode


def test_a_server_of_the_script_keeps_its_address():
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver("grpc://localhost:2222")
    assert resolver.master() == "grpc://localhost:2222"
    assert resolver.get_job_name() == "worker"
    assert not resolver.is_here


# What 1.15 answers of these (tensorflow/python/distribute/cluster_resolver/tpu_cluster_resolver_test.py).
PODS = "grpc://10.120.27.5:8470,grpc://10.120.27.6:8470"


@pytest.mark.parametrize(
    "variable, value, master, cluster",
    [
        (
            "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS",
            PODS,
            "grpc://10.120.27.5:8470",
            {"worker": ["10.120.27.5:8470", "10.120.27.6:8470"]},
        ),
        ("TPU_NAME", "grpc://10.1.2.3:8470", "grpc://10.1.2.3:8470", {"worker": ["10.1.2.3:8470"]}),
        ("TPU_NAME", "my-tpu", "", {"worker": ["localhost"]}),
    ],
)
def test_addresses_from_the_environment(monkeypatch, variable, value, master, cluster):
    for name in ("KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", "TPU_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, value)
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver()
    assert resolver.master() == master
    assert resolver.cluster_spec().as_dict() == cluster
    with tf.Session(resolver.master()) as session:
        assert session.run(tf.constant(3)) == 3


@pytest.mark.parametrize("address", ["/bns/foo/bar", "localhost:12345", "uptc://a"])
def test_addresses_of_google_itself(address):
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver(address)
    assert resolver.master() == address
    assert resolver.environment == "google" and resolver.rpc_layer is None
    assert resolver.cluster_spec() is None


class Service:
    """The cloud's API, as a script may bring it along."""

    def __init__(self, nodes):
        self._nodes = nodes

    def projects(self):
        return self

    locations = nodes = projects

    def get(self, name):
        self._asked = name
        return self

    def execute(self):
        return self._nodes[self._asked]


NODE = "projects/p/locations/us-central1-c/nodes/my-tpu"
POD = {"networkEndpoints": [{"ipAddress": f"10.2.3.{i}", "port": 8470} for i in (4, 5)]}


def resolved(nodes, **arguments):
    return tf.contrib.cluster_resolver.TPUClusterResolver(
        "my-tpu", zone="us-central1-c", project="p", service=Service(nodes), **arguments
    )


def test_the_script_s_own_service_is_asked():
    resolver = resolved({NODE: {"state": "READY", **POD}})
    assert resolver.cluster_spec().as_dict() == {"worker": ["10.2.3.4:8470", "10.2.3.5:8470"]}
    assert resolver.master() == "grpc://10.2.3.4:8470"
    resolver.task_id = 1
    assert resolver.master() == "grpc://10.2.3.5:8470"
    assert resolver.master("worker", 0, rpc_layer="test") == "test://10.2.3.4:8470"
    assert resolver.is_here
    old = resolved({NODE: {"ipAddress": "10.1.2.3", "port": "8470"}}, job_name="tpu_worker")
    assert old.cluster_spec().as_dict() == {"tpu_worker": ["10.1.2.3:8470"]}


def test_a_node_that_is_not_ready():
    resolver = resolved({NODE: {"state": "CREATING", **POD}})
    with pytest.raises(RuntimeError, match='TPU "my-tpu" is not yet ready; state: "CREATING"'):
        resolver.cluster_spec()


def test_a_node_that_the_service_does_not_know():
    resolver = resolved({})
    assert resolver.master() == ""
    assert resolver.cluster_spec().as_dict() == {"worker": ["localhost"]}


def test_a_coordinator_without_an_address(monkeypatch):
    resolver = resolved({NODE: POD}, coordinator_name="coordinator")
    jobs = resolver.cluster_spec().as_dict()
    assert jobs["worker"] == ["10.2.3.4:8470", "10.2.3.5:8470"]
    assert jobs["coordinator"] == [f"127.0.0.1:{resolver._coordinator_port}"]
    assert int(resolver._coordinator_port) > 0


def test_cores_of_hosts():
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver
    names = [f"/job:w/task:{task}/device:TPU:{core}" for task in (0, 1) for core in (0, 4)]
    devices = [types.SimpleNamespace(name=name) for name in [*names, "/job:w/task:0/device:CPU:0"]]
    hosts, cores = resolver._get_device_dict_and_cores(devices)
    assert hosts == {"0": ["0", "4"], "1": ["0", "4"]} and cores == 4
    assert resolver._verify_and_return_same_core_count(hosts) == 2
    with pytest.raises(RuntimeError, match="TPU cores on each device is not the same"):
        resolver._verify_and_return_same_core_count({"0": ["0"], "1": []})


@pytest.mark.parametrize("answer", [{"Metadata-Flavor": "Google"}, {}, OSError("no such host")])
def test_whether_this_is_google_s_cloud(monkeypatch, answer):
    from six.moves import urllib

    def urlopen(request, timeout):
        assert request.full_url == "http://metadata.google.internal/computeMetadata/v1"
        if isinstance(answer, OSError):
            raise answer
        return types.SimpleNamespace(info=lambda: answer)

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    module = tf.python.distribute.cluster_resolver.tpu_cluster_resolver
    assert module.is_running_in_gce() == (answer == {"Metadata-Flavor": "Google"})


@pytest.mark.parametrize(
    "tpu, error, text",
    [
        ([], ValueError, "At least one TPU must be specified."),
        (["a", "b"], NotImplementedError, "Using multiple TPUs in a single session"),
        (5, TypeError, "TPU415 tpu has to be a name or an address, not 5"),
    ],
)
def test_what_tensorflow_1_refused(tpu, error, text):
    with pytest.raises(error, match=text):
        tf.contrib.cluster_resolver.TPUClusterResolver(tpu)


def test_emulated_cores_are_counted(monkeypatch):
    monkeypatch.setenv("TPUCOMPAT_CORES", "8")
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver("my-tpu")
    assert resolver.num_accelerators() == {"TPU": 8}


def test_a_required_tpu_that_is_missing(monkeypatch):
    monkeypatch.setenv("TPUCOMPAT_REQUIRE_TPU", "1")
    with pytest.raises(SetupError, match="TPU411"):
        tf.contrib.cluster_resolver.TPUClusterResolver("my-tpu")
    with pytest.raises(SetupError, match="TPU411"):
        tf.Session("grpc://tpucompat.invalid:8470")


def test_a_script_that_is_to_find_no_tpu(monkeypatch):
    monkeypatch.setenv("TPUCOMPAT_NO_TPU", "1")
    monkeypatch.delenv("TPU_NAME", raising=False)
    for resolver in (
        tf.contrib.cluster_resolver.TPUClusterResolver,
        tf.distribute.cluster_resolver.TPUClusterResolver,
    ):
        with pytest.raises(ValueError, match="Please provide a TPU Name to connect to"):
            resolver()
        assert resolver("my-tpu").is_here  # who names one means it


def test_resolvers_that_survived():
    resolvers = tf.contrib.cluster_resolver
    simple = resolvers.SimpleClusterResolver(tf.train.ClusterSpec({"worker": ["a:1", "b:1"]}))
    other = resolvers.SimpleClusterResolver(tf.train.ClusterSpec({"ps": ["c:1"]}))
    union = resolvers.UnionClusterResolver(simple, other)
    assert union.cluster_spec().as_dict() == {"worker": ["a:1", "b:1"], "ps": ["c:1"]}
    assert isinstance(simple, resolvers.ClusterResolver)
    for name in ("GCE", "Kubernetes", "Slurm", "TFConfig"):
        assert issubclass(getattr(resolvers, name + "ClusterResolver"), resolvers.ClusterResolver)


@pytest.mark.skipif(TF1, reason="1.15 has no such name itself")
def test_the_name_of_1_13():
    resolvers = tf.contrib.cluster_resolver
    assert resolvers.GceClusterResolver is resolvers.GCEClusterResolver


def test_tf_config_resolver_reads_the_environment(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker"}}')
    resolver = tf.contrib.cluster_resolver.TFConfigClusterResolver()
    assert resolver.cluster_spec().as_dict() == {"worker": ["a:1"]}


# Sessions ----------------------------------------------------------------------------------------


def cpus(session):
    return [device.name for device in session.list_devices() if device.device_type == "CPU"]


@pytest.mark.parametrize("target", ["", None, *ADDRESSES])
def test_a_session_runs_here_whatever_its_target(target):
    value = tf.constant(20) + 22
    with tf.Session(target) as session:
        assert session.run(value) == 42
        assert cpus(session)[0] == "/job:localhost/replica:0/task:0/device:CPU:0"
        assert len(cpus(session)) == DEVICES
        assert value.eval() == 42


def test_the_colab_cell_that_lists_devices(monkeypatch):
    for name in accelerator.OFFERED:
        monkeypatch.setenv(name, "")  # so that it is put back
        monkeypatch.delenv(name)
    accelerator.offer_address()
    tpu_address = "grpc://" + os.environ["COLAB_TPU_ADDR"]
    with tf.Session(tpu_address) as session:
        devices = session.list_devices()
    assert "CPU" in {device.device_type for device in devices}
    assert "TPU" not in {device.device_type for device in devices}
    assert [code for code, _ in journal.notices()] == ["TPU410"]


@pytest.mark.parametrize("config", [None, {}, {"allow_soft_placement": True}])
def test_emulated_cores_are_devices_of_a_session(monkeypatch, config):
    monkeypatch.setenv("TPUCOMPAT_CORES", "4")
    proto = None if config is None else tf.ConfigProto(**config)
    for target in ("", "my-tpu"):
        with tf.Session(target, config=proto) as session:
            assert len(cpus(session)) == (max(4, DEVICES) if config is None else 4)
            with tf.device("/cpu:3"):
                assert session.run(tf.constant(1) + 1) == 2
    assert proto is None or "CPU" not in proto.device_count  # the script's own is not changed


def test_the_script_s_own_number_of_devices_stays(monkeypatch):
    monkeypatch.setenv("TPUCOMPAT_CORES", "4")
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        assert len(cpus(session)) == 2


def test_devices_and_clusters_of_the_tpu_in_a_graph():
    with tf.device("/device:CPU:99"):
        value = tf.constant(1) + 1
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver("grpc://10.240.1.2:8470")
    config = tf.ConfigProto()
    config.cluster_def.CopyFrom(resolver.cluster_spec().as_cluster_def())
    with tf.Session("grpc://10.240.1.2:8470", config=config) as session:
        assert session.run(value) == 2
    assert not config.allow_soft_placement
    strict = tf.Session(config=tf.ConfigProto())
    with pytest.raises(tf.errors.InvalidArgumentError):
        strict.run(value)


def test_it_is_tensorflow_s_own_class_in_every_respect():
    real = tensorflow.compat.v1.Session
    assert issubclass(tf.Session, real) and tf.Session is not real
    assert issubclass(real, tf.Session)
    assert isinstance(tf.Session(), real)
    assert isinstance(real(), tf.Session)
    assert isinstance(tf.keras.backend.get_session(), tf.Session)
    assert not isinstance(3, tf.Session) and not issubclass(int, tf.Session)
    assert repr(tf.Session) == repr(real)
    assert tf.Session.__doc__ == real.__doc__

    class Own(tf.Session):
        pass

    assert isinstance(Own("my-tpu"), tf.Session)
    assert not isinstance(tf.Session(), Own) and not issubclass(real, Own)


@pytest.mark.parametrize("arguments", [(5,), (tensorflow.compat.v1.ConfigProto(),)])
def test_errors_are_tensorflow_s_own(arguments):
    with pytest.raises(TypeError) as ours:
        tf.Session(*arguments)
    with pytest.raises(TypeError) as theirs:
        tensorflow.compat.v1.Session(*arguments)
    assert str(ours.value) == str(theirs.value)


def test_an_unknown_argument():
    with pytest.raises(TypeError, match="bogus"):
        tf.Session(bogus=1)
    with pytest.raises(TypeError, match=r"(Argument `config`|config) must be"):
        tf.Session(config=3)


def test_interactive_session():
    session = tf.InteractiveSession("grpc://tpucompat.invalid:8470")
    try:
        assert (tf.constant(3) * 2).eval() == 6
        assert isinstance(session, tensorflow.compat.v1.InteractiveSession)
    finally:
        session.close()


@pytest.mark.skipif(TF1, reason="1.15 has its own loops, which are left unchanged")
def test_the_loops_of_slim_and_contrib_training(tmp_path):
    slim, folder = tf.contrib.slim, str(tmp_path)
    target = tf.contrib.cluster_resolver.TPUClusterResolver("grpc://10.240.1.2:8470").master()

    def step_and_train():
        step = tf.train.get_or_create_global_step()
        with tf.control_dependencies([tf.assign_add(step, 1)]):
            return step, tf.constant(7.0) * 2

    with tf.Graph().as_default():
        hooks = [tf.train.StopAtStepHook(last_step=3)]
        loop = tf.contrib.training.train
        assert loop(step_and_train()[1], folder, master=target, hooks=hooks) == 14.0
    with tf.Graph().as_default():
        step, train = step_and_train()
        options = {"number_of_steps": 5, "global_step": step, "save_interval_secs": 0}
        assert slim.learning.train(train, folder, master=target, **options) == 14.0
    newest = tf.train.latest_checkpoint(folder)
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        evaluate = slim.evaluation.evaluate_once
        assert evaluate(target, newest, str(tmp_path / "eval"), final_op=step) == 5
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        evaluate = tf.contrib.training.evaluate_repeatedly
        values = evaluate(folder, target, final_ops={"step": step}, max_number_of_evaluations=1)
        assert values == {"step": 5}


def test_reset_of_a_tpu():
    session = tf.Session()
    tf.Session.reset("grpc://10.240.1.2:8470")
    with pytest.raises((tf.errors.CancelledError, tf.errors.AbortedError, RuntimeError)):
        session.run(tf.constant(1))


@pytest.mark.parametrize("target", ["", "grpc://10.240.1.2:8470"])
def test_monitored_training_session(target, tmp_path):
    step = tf.train.get_or_create_global_step()
    train = tf.assign_add(step, 1)
    hooks = [tf.train.StopAtStepHook(last_step=3)]
    with tf.train.MonitoredTrainingSession(
        target, checkpoint_dir=str(tmp_path), hooks=hooks, log_step_count_steps=None
    ) as session:
        while not session.should_stop():
            last = session.run(train)
    assert last == 3
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("-3")


@pytest.mark.parametrize("target", ["", "grpc://10.240.1.2:8470"])
def test_singular_monitored_session(target):
    train = tf.assign_add(tf.train.get_or_create_global_step(), 1)
    with tf.train.SingularMonitoredSession(master=target) as session:
        assert session.run(train) == 1
    assert isinstance(session, tensorflow.compat.v1.train.SingularMonitoredSession)


@pytest.mark.parametrize("creator", ["ChiefSessionCreator", "WorkerSessionCreator"])
def test_session_creators(creator):
    made = getattr(tf.train, creator)(master="grpc://10.240.1.2:8470")
    assert isinstance(made, getattr(tensorflow.compat.v1.train, creator))
    assert made._master == ""


def test_session_manager_and_supervisor(tmp_path):
    variable = tf.get_variable("v", initializer=3.0)
    initial = tf.global_variables_initializer()
    manager = tf.train.SessionManager()
    session = manager.prepare_session("grpc://10.240.1.2:8470", init_op=initial)
    assert session.run(variable) == 3.0
    session.close()
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), summary_op=None)
    with supervisor.managed_session("grpc://10.240.1.2:8470") as session:
        assert session.run(variable) == 3.0


def test_a_server_of_the_script_s_own(monkeypatch):
    monkeypatch.undo()  # the server is dialled, on this machine
    server = tf.train.Server.create_local_server()
    assert server.target.startswith("grpc://localhost:")
    with tf.Session(server.target) as session:
        assert session.run(tf.constant(5)) == 5
        assert session.sess_str == server.target.encode()
