import { existsSync } from 'node:fs';

import type { Engine } from '../engine.ts';
import { Failure } from '../failure.ts';

const file = '/usr/sbin/haproxy';

/** Installs the program only: each test starts its own with the configuration in `deploy/proxy`. */
export const haproxy: Engine = {
  name: 'haproxy',
  title: 'HAProxy 2.6',
  topologies: ['single'],
  onlyByName: true,
  stop: { signal: 'SIGTERM', timeoutMs: 10_000 },
  readyTimeoutMs: 180_000,

  async needs() {
    return existsSync(file) ? [] : [{ kind: 'packages', from: 'release', packages: ['haproxy'] }];
  },

  nodes: () => [],
  configure: async () => {},
  start: () => {
    throw new Error('haproxy has no process to start');
  },
  ready: async () => {},
  endpoints: () => ({}),
};

/** The path of the installed program. */
export function haproxyFile(): string {
  if (existsSync(file)) return file;
  throw new Failure('HAProxy is not installed.', 'Run `npm run services -- up --install haproxy`.');
}
