import path from 'node:path';

import { isTraversableByAll, knownHome, nodeHome, type Site } from '../site.ts';

/** Incus creates sockets with long names in its folder, and a socket path is limited to 108 bytes. */
const MAX_HOME_PATH_LENGTH = 60;

/** Creates the folder of a node. Unprivileged users inside containers must be able to traverse it to reach their disks. */
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
    dir,
    daemonLog: path.join(home, 'incusd.log'),
    /** The daemon's database, written before each response. */
    database: path.join(dir, 'database'),
    socket: path.join(dir, 'unix.socket'),
    serverCertificate: path.join(dir, 'server.crt'),
    clusterCertificate: path.join(dir, 'cluster.crt'),
    clientCertificate: path.join(home, 'client.crt'),
    clientKey: path.join(home, 'client.key'),
    /** Files that simulate the hardware of a host. */
    simulation: path.join(home, 'simulated'),
    hostRecord: path.join(home, 'host.json'),
    /** Exists once the daemon or the whole cluster has been set up. */
    formed: path.join(home, 'formed'),
  };
}
