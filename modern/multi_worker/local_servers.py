"""TensorFlow's own servers, workers' and parameter servers': the ones this process is, and the ones it starts."""

from __future__ import annotations

from workloads.support import addresses, child_processes


class Servers:
    """Workers and parameter servers on this machine, each a process, gone when this is closed.

    They run without oneDNN: with it, several workers corrupted their heaps within a few steps of a convolutional net
    (TensorFlow 2.21, "double free or corruption"; never without it).

    Args:
      workers, parameter_servers: how many.

    Attributes:
      cluster: {job: addresses} of them and of the coordinator, as `TF_CONFIG` has it.
      children: {"worker 0": `Child`}.
    """

    def __init__(self, workers, parameter_servers):
        places = addresses.free(workers + parameter_servers + 1)
        self.cluster = {
            "worker": places[:workers],
            "ps": places[workers : workers + parameter_servers],
            "chief": places[-1:],
        }
        self.children = {}
        try:
            for job in ("worker", "ps"):
                for index in range(len(self.cluster[job])):
                    name = f"{job} {index}"
                    self.children[name] = child_processes.Child(name, _serve, (self.cluster, job, index), exact=True)
            child_processes.receive_from_all(list(self.children.values()))
        except BaseException:
            self.close()
            raise

    def close(self):
        """Ends them all."""
        child_processes.stop_all(self.children.values())

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


def resolver(cluster):
    """The `ClusterResolver` of the coordinator of `cluster` ({job: addresses})."""
    import tensorflow as tf

    return tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(cluster), task_type="chief", task_id=0, rpc_layer="grpc"
    )


def serve(cluster, job, index):
    """Is task `index` of `job` for good."""
    _server(cluster, job, index).join()


def _serve(speaker, cluster, job, index):
    server = _server(cluster, job, index)
    speaker.say(server.target)
    speaker.listen()  # until the parent closes the connection


def _server(cluster, job, index):
    import tensorflow as tf

    # A worker that waits for a server must leave a thread to the server's answer: TensorFlow's guide asks for so many.
    threads = max(4, len(cluster["worker"]) + 1)
    config = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=threads)
    return tf.distribute.Server(
        tf.train.ClusterSpec(cluster), job_name=job, task_index=index, config=config, protocol="grpc"
    )
