//! A cluster of three masters with a replica each, on free loopback ports.

use std::collections::HashMap;

use redis::{Connection, Value};

use super::{Server, free_port, until};

const MASTERS: usize = 3;

pub(crate) struct Cluster {
    /// Masters first, then their replicas in the same order.
    pub(crate) nodes: Vec<Server>,
}

impl Cluster {
    pub(crate) fn start() -> Cluster {
        let options = || {
            let bus = free_port().to_string();
            let options = ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-port", &bus];
            let replication = ["--repl-diskless-sync-delay", "0", "--cluster-replica-validity-factor", "0"];
            options.into_iter().chain(replication).map(str::to_owned).collect()
        };
        let cluster = Cluster { nodes: (0..2 * MASTERS).map(|_| Server::start_with(options)).collect() };
        cluster.hand_out_slots();
        cluster.introduce();
        cluster.attach_replicas();
        cluster
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(Server::url).collect()
    }

    fn hand_out_slots(&self) {
        for (i, range) in [(0, 5460), (5461, 10922), (10923, 16383)].into_iter().enumerate() {
            let mut admin = self.nodes[i].admin();
            cluster("SET-CONFIG-EPOCH").arg(i + 1).exec(&mut admin).unwrap();
            cluster("ADDSLOTSRANGE").arg(range.0).arg(range.1).exec(&mut admin).unwrap();
        }
    }

    fn introduce(&self) {
        let mut first = self.nodes[0].admin();
        for node in &self.nodes[1..] {
            let bus: Vec<String> =
                redis::cmd("CONFIG").arg("GET").arg("cluster-port").query(&mut node.admin()).unwrap();
            cluster("MEET").arg("127.0.0.1").arg(node.port()).arg(&bus[1]).exec(&mut first).unwrap();
        }
        until("the nodes know each other", || {
            self.nodes.iter().all(|node| info(&mut node.admin())["cluster_known_nodes"] == "6")
        });
    }

    fn attach_replicas(&self) {
        for i in 0..MASTERS {
            let id: String = cluster("MYID").query(&mut self.nodes[i].admin()).unwrap();
            let mut replica = self.nodes[MASTERS + i].admin();
            // The handshake may still be under way between these two.
            until("the replica follows", || cluster("REPLICATE").arg(&id).query::<Value>(&mut replica).is_ok());
        }
        until("all slots are served and copied", || {
            let served = self.nodes.iter().all(|node| info(&mut node.admin())["cluster_state"] == "ok");
            served && self.nodes[MASTERS..].iter().all(|node| replication(node).contains("master_link_status:up"))
        });
    }

    pub(crate) fn slot_of(&self, key: &[u8]) -> usize {
        cluster("KEYSLOT").arg(key).query(&mut self.nodes[0].admin()).unwrap()
    }

    /// Which master serves the key.
    pub(crate) fn master_of(&self, key: &[u8]) -> usize {
        (self.slot_of(key) / 5461).min(MASTERS - 1)
    }

    fn id(&self, node: usize) -> String {
        cluster("MYID").query(&mut self.nodes[node].admin()).unwrap()
    }

    /// Opens the slot at both ends: keys that the old node has not got are asked for at the new one.
    pub(crate) fn begin_to_move(&self, slot: usize, from: usize, to: usize) {
        let setslot = |node: usize, state: &str, other: usize| {
            let mut admin = self.nodes[node].admin();
            cluster("SETSLOT").arg(slot).arg(state).arg(self.id(other)).exec(&mut admin).unwrap();
        };
        setslot(to, "IMPORTING", from);
        setslot(from, "MIGRATING", to);
    }

    /// Gives the slot to the node, with what it has got.
    pub(crate) fn move_slot(&self, slot: usize, to: usize) {
        for node in [to, 0, 1, 2] {
            let mut admin = self.nodes[node].admin();
            cluster("SETSLOT").arg(slot).arg("NODE").arg(self.id(to)).exec(&mut admin).unwrap();
        }
    }

    /// Polls until the replica of `master` has taken over.
    pub(crate) fn until_promoted(&self, master: usize) {
        until("the replica is promoted", || replication(&self.nodes[MASTERS + master]).contains("role:master"));
    }
}

fn cluster(subcommand: &str) -> redis::Cmd {
    let mut cmd = redis::cmd("CLUSTER");
    cmd.arg(subcommand);
    cmd
}

fn info(admin: &mut Connection) -> HashMap<String, String> {
    let text: String = cluster("INFO").query(admin).unwrap();
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.into(), value.trim().into()))
        .collect()
}

fn replication(node: &Server) -> String {
    redis::cmd("INFO").arg("replication").query(&mut node.admin()).unwrap()
}
