import { expect, test } from 'vitest';

import { renderStatus } from './status.ts';

test('renderStatus: prints every node with its problem in aligned columns', () => {
  const nodes = [
    {
      engine: 'nats',
      node: 'nats-1',
      topology: 'cluster' as const,
      state: 'ready' as const,
      pid: 4711,
      port: 17_421,
      since: '2026-01-02T03:04:05.000Z',
      detail: '',
    },
    {
      engine: 'postgres',
      node: 'postgres',
      topology: 'single' as const,
      state: 'dead' as const,
      pid: null,
      port: 17_400,
      since: null,
      detail: 'process 12 has ended',
    },
  ];
  expect(renderStatus(nodes)).toBe(
    [
      'NODE      STATE  PID   PORT   SINCE',
      'nats-1    ready  4711  17421  2026-01-02T03:04:05.000Z',
      'postgres  dead   -     17400  -                         process 12 has ended',
    ].join('\n'),
  );
});
