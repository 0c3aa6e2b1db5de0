import path from 'node:path';

import { isTraversableByAll, knownHome, nodeHome, type Site } from '../site.ts';

/** Incus puts sockets with long names of their own below its folder, and a socket's path ends at 108 bytes. */
const MAX_HOME_PATH_LENGTH = 60;

/** Makes a node's folder. The users inside containers are unprivileged ones, which must be able to reach their disks. */
export function makeIncusHome(site: Site, nodeName: string): string {
  return nodeHome(
    site,
    nodeName,
    (folder) => folder.length <= MAX_HOME_PATH_LENGTH && isTraversableByAll(folder),
  );
}

export function incusFiles(site: Site, nodeName: string) {
  const home = knownHome(site, nodeName);
  const dir = path.join(home, 'var');
  return {
    home,
    /** What the daemon calls INCUS_DIR. */
    dir,
    daemonLog: path.join(home, 'incusd.log'),
    /** The daemon's database. The daemon writes each change to its log before it answers. */
    database: path.join(dir, 'database'),
    socket: path.join(dir, 'unix.socket'),
    serverCertificate: path.join(dir, 'server.crt'),
    clusterCertificate: path.join(dir, 'cluster.crt'),
    clientCertificate: path.join(home, 'client.crt'),
    clientKey: path.join(home, 'client.key'),
    /** Stands in for the hardware that a member of a cluster pretends to have. */
    simulation: path.join(home, 'simulated'),
    /** What is remembered of the process that keeps a member's namespaces. */
    hostRecord: path.join(home, 'host.json'),
    /** Written once all three have joined. */
    formed: path.join(home, 'formed'),
  };
}
