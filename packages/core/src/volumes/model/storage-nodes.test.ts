import { testIds } from '@millrace/testing';
import { describe, expect, it } from 'vitest';
import {
  chooseStorageNode,
  freeVip,
  silentForMs,
  observedSinceAt,
  type StorageNode,
} from './storage-nodes.ts';

const at = (ms: number): Date => new Date(Date.UTC(2026, 0, 1) + ms);

function node(fields: Partial<StorageNode> = {}): StorageNode {
  return {
    id: testIds.next('stn'),
    name: 'a',
    region: 'eu-west-3',
    mode: 'live',
    kind: 'nfs',
    endpoint: 'https://a.example',
    credentialRef: null,
    settings: {},
    vipFirst: '10.8.0.10',
    vipLast: '10.8.0.12',
    capacityGb: 1_000,
    configured: true,
    status: 'connected',
    statusReason: null,
    lastCheckAt: null,
    watchSince: null,
    seenAt: null,
    ...fields,
  };
}

describe('chooseStorageNode and freeVip', () => {
  it('choose the node with most free capacity and its first free address', () => {
    const [small, large] = [node({ name: 'a' }), node({ name: 'b', capacityGb: 2_000 })];
    const loads = new Map([[large.id, { soldGb: 500, vips: new Set(['10.8.0.10']) }]]);
    expect(chooseStorageNode([small, large], loads, 256)).toEqual({ nodeId: large.id, vip: '10.8.0.11' });
  });

  it('choose another node if the one with most capacity has no free address', () => {
    const [small, large] = [node({ name: 'a' }), node({ name: 'b', capacityGb: 2_000 })];
    const vips = new Set(['10.8.0.10', '10.8.0.11', '10.8.0.12']);
    expect(chooseStorageNode([small, large], new Map([[large.id, { soldGb: 0, vips }]]), 256)?.nodeId).toBe(
      small.id,
    );
  });

  it('return null if no node has enough capacity, to the GB', () => {
    const one = node();
    const loads = new Map([[one.id, { soldGb: 745, vips: new Set<string>() }]]);
    expect(chooseStorageNode([one], loads, 256)).toBeNull();
    expect(chooseStorageNode([one], loads, 255)).not.toBeNull();
  });

  it('count addresses across byte boundaries', () => {
    expect(freeVip({ vipFirst: '10.8.0.255', vipLast: '10.8.1.1' }, new Set(['10.8.0.255']))).toBe(
      '10.8.1.0',
    );
    expect(freeVip({ vipFirst: '223.255.255.255', vipLast: '223.255.255.255' }, new Set())).toBe(
      '223.255.255.255',
    );
  });
});

describe('silentForMs and observedSinceAt', () => {
  const policy = { gapMs: 40_000 };

  it('count from the last response, but not from before the observation started', () => {
    expect(silentForMs({ seenAt: at(0), watchSince: at(0) }, at(90_000))).toBe(90_000);
    expect(silentForMs({ seenAt: at(0), watchSince: at(80_000) }, at(90_000))).toBe(10_000);
    expect(silentForMs({ seenAt: null, watchSince: null }, at(90_000))).toBe(0);
  });

  it('restart the observation after a gap and after the clock was set back', () => {
    expect(observedSinceAt({ lastCheckAt: at(0), watchSince: at(-9_000) }, at(10_000), policy)).toEqual(
      at(-9_000),
    );
    expect(observedSinceAt({ lastCheckAt: at(0), watchSince: at(-9_000) }, at(60_000), policy)).toEqual(
      at(60_000),
    );
    expect(observedSinceAt({ lastCheckAt: at(0), watchSince: at(-9_000) }, at(-1), policy)).toEqual(at(-1));
    expect(observedSinceAt({ lastCheckAt: null, watchSince: null }, at(5), policy)).toEqual(at(5));
  });
});
