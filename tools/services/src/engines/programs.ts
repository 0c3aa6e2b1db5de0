import { existsSync } from 'node:fs';

import type { Engine } from '../engine.ts';
import { Failure } from '../failure.ts';

const haproxyProgram = '/usr/sbin/haproxy';

/** HAProxy, which each test starts with a configuration in `deploy`. */
export const haproxy = programsOnly('haproxy', 'HAProxy 2.6', { haproxy: haproxyProgram });

/** Patroni and etcd, of which tests start clusters with the settings in `deploy/patroni`. */
export const patroni = programsOnly('patroni', 'Patroni 3 with etcd 3.4', {
  patroni: '/usr/bin/patroni',
  'python3-etcd': '/usr/lib/python3/dist-packages/etcd/__init__.py',
  'etcd-server': '/usr/bin/etcd',
});

/** An engine that only installs packages, each with a file that shows whether it is installed. */
function programsOnly(name: string, title: string, files: Readonly<Record<string, string>>): Engine {
  return {
    name,
    title,
    topologies: ['single'],
    onlyByName: true,
    stop: { signal: 'SIGTERM', timeoutMs: 10_000 },
    readyTimeoutMs: 180_000,

    async needs() {
      const missing = Object.entries(files).filter(([, file]) => !existsSync(file));
      const packages = missing.map(([each]) => each);
      return packages.length === 0 ? [] : [{ kind: 'packages', from: 'release', packages }];
    },

    nodes: () => [],
    configure: async () => {},
    start: () => {
      throw new Error(`${name} has no process to start`);
    },
    ready: async () => {},
    endpoints: () => ({}),
  };
}

/** The path of the installed program. */
export function haproxyFile(): string {
  if (existsSync(haproxyProgram)) return haproxyProgram;
  throw new Failure('HAProxy is not installed.', 'Run `npm run services -- up --install haproxy`.');
}
