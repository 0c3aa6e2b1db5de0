import { existsSync, readFileSync } from 'node:fs';

import type { Engine } from '../engine.ts';
import { isInstalled } from '../install/commands.ts';
import { isFullRoot } from './incus.ts';

const packages = ['nfs-ganesha', 'nfs-ganesha-vfs', 'xfsprogs'];
const commands = ['ganesha.nfsd', 'mkfs.xfs', 'xfs_growfs', 'losetup', 'fsfreeze', 'prlimit', 'setpriv'];

/** Installs programs only: the storage agent starts one server per volume. */
export const nfs: Engine = {
  name: 'nfs',
  title: 'NFS-Ganesha 4.3',
  topologies: ['single'],
  stop: { signal: 'SIGTERM', timeoutMs: 10_000 },
  readyTimeoutMs: 180_000,

  obstacle(site) {
    if (!site.isRoot || !isFullRoot(readFileSync('/proc/self/status', 'utf8'))) {
      return 'Volumes need root with the capability to mount file systems.';
    }
    return existsSync('/dev/loop-control') ? null : 'Volumes need a kernel with loop devices.';
  },

  async needs() {
    const there = await Promise.all(commands.map(isInstalled));
    return there.every(Boolean) ? [] : [{ kind: 'packages', from: 'release', packages }];
  },

  nodes: () => [],
  configure: async () => {},
  start: () => {
    throw new Error('nfs has no process to start');
  },
  ready: async () => {},
  endpoints: () => ({}),
};
