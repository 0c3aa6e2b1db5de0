import type { MachineView } from '@millrace/compute';
import { expect, it } from 'vitest';
import { defaultInventoryPolicy as policy } from './plan-repairs.ts';
import { planOrphans, type RecordedOrphan, type OrphanPlanInput } from './plan-orphans.ts';
import { at, orgId } from '../view.fixture.ts';

const NOW = 3_600_000;

const view = (externalId: string, fields: Partial<MachineView> = {}): MachineView => ({
  orgId,
  externalId,
  nodeName: 'node-1',
  power: 'on',
  detail: null,
  gpuPciAddresses: [],
  privateIps: [],
  address: null,
  ports: [],
  sshUser: 'ubuntu',
  labels: {},
  createdAt: at(0),
  ...fields,
});

const orphan = (externalId: string, agoMs: number, nodeName = 'node-1'): RecordedOrphan => ({
  orgId,
  externalId,
  nodeName,
  firstSeenAt: at(NOW - agoMs),
  removalStartedAt: null,
});

const facts = (fields: Partial<OrphanPlanInput> = {}): OrphanPlanInput => ({
  now: at(NOW),
  unknown: [],
  listedCount: 100,
  unreachableNodes: new Set(),
  remembered: [],
  recorded: new Map(),
  removalAllowedUntil: null,
  mayHaveLostRow: () => false,
  policy,
  ...fields,
});

const ids = (machines: readonly { readonly externalId: string }[]) =>
  machines.map(({ externalId }) => externalId);

it('planOrphans removes an orphan after two comparisons a minute apart', () => {
  expect(ids(planOrphans(facts({ unknown: [view('a')] })).fresh)).toEqual(['a']);
  const seen = (agoMs: number) =>
    planOrphans(facts({ unknown: [view('a')], remembered: [orphan('a', agoMs)] }));
  expect([ids(seen(59_999).waiting), ids(seen(59_999).remove)]).toEqual([['a'], []]);
  expect([ids(seen(60_000).waiting), ids(seen(60_000).remove)]).toEqual([[], ['a']]);
});

it('planOrphans keeps a machine that is, or whose rental is, less than a minute old', () => {
  const remembered = [orphan('a', 600_000)];
  const young = view('a', { createdAt: at(NOW - 59_000) });
  expect(planOrphans(facts({ unknown: [young], remembered })).remove).toEqual([]);
  const recorded = new Map([['a', { isLive: false, rentalCreatedAt: at(NOW - 59_000) }]]);
  expect(planOrphans(facts({ unknown: [view('a')], remembered, recorded })).remove).toEqual([]);
  const older = new Map([['a', { isLive: false, rentalCreatedAt: at(NOW - 60_000) }]]);
  expect(ids(planOrphans(facts({ unknown: [view('a')], remembered, recorded: older })).remove)).toEqual([
    'a',
  ]);
});

it('planOrphans keeps a machine with another purpose for 15 minutes', () => {
  const labels = { 'millrace.purpose': 'self-test' };
  const planAfter = (ms: number) =>
    planOrphans(
      facts({ unknown: [view('a', { labels, createdAt: at(NOW - ms) })], remembered: [orphan('a', ms)] }),
    );
  const young = planAfter(899_999);
  expect([young.fresh, young.waiting, young.remove, ids(young.resolved)]).toEqual([[], [], [], ['a']]);
  expect(ids(planAfter(900_000).remove)).toEqual(['a']);
});

it('planOrphans never removes a machine that a rental has on another cluster', () => {
  const recorded = new Map([['a', { isLive: true, rentalCreatedAt: at(0) }]]);
  const plan = planOrphans(facts({ unknown: [view('a')], remembered: [orphan('a', 600_000)], recorded }));
  expect([ids(plan.misplaced), plan.remove, ids(plan.resolved)]).toEqual([['a'], [], ['a']]);
});

it('planOrphans resolves an orphan that is no longer listed, unless its node is unreachable', () => {
  const remembered = [orphan('a', 600_000), orphan('b', 600_000, 'node-2')];
  expect(ids(planOrphans(facts({ remembered, unreachableNodes: new Set(['node-2']) })).resolved)).toEqual([
    'a',
  ]);
});

it('planOrphans removes few at a time, and many only with a temporary approval', () => {
  const many = Array.from({ length: 11 }, (_, index) => `m${String(index)}`);
  const given = facts({
    unknown: many.map((id) => view(id)),
    remembered: many.map((id) => orphan(id, 600_000)),
  });
  const plan = planOrphans(given);
  expect([plan.isPersonNeeded, plan.remove, plan.held.length]).toEqual([true, [], 11]);
  const fewer = planOrphans({ ...given, listedCount: 110 });
  expect([fewer.isPersonNeeded, fewer.remove.length, fewer.held.length]).toEqual([false, 5, 6]);
  const allowed = planOrphans({ ...given, removalAllowedUntil: at(NOW + 1) });
  expect([allowed.isPersonNeeded, allowed.remove.length]).toEqual([false, 5]);
  expect(planOrphans({ ...given, removalAllowedUntil: at(NOW) }).isPersonNeeded).toBe(true);
  const three = {
    unknown: given.unknown.slice(0, 3),
    remembered: given.remembered.slice(0, 3),
    listedCount: 3,
  };
  expect(planOrphans({ ...given, ...three }).remove).toHaveLength(3);
});

it('planOrphans holds machines that a restore may have lost, without blocking other orphans', () => {
  const lostIds = Array.from({ length: 8 }, (_, index) => `lost${String(index)}`);
  const createdAt = at(1_000);
  const given = facts({
    unknown: [...lostIds.map((id) => view(id, { createdAt })), view('orphan')],
    remembered: [...lostIds, 'orphan'].map((id) => orphan(id, 600_000)),
    mayHaveLostRow: (machine) => machine.createdAt?.getTime() === createdAt.getTime(),
  });
  const plan = planOrphans(given);
  expect([ids(plan.remove), ids(plan.lost), plan.isPersonNeeded]).toEqual([['orphan'], lostIds, false]);
  expect(ids(planOrphans({ ...given, remembered: [] }).freshLost)).toEqual(lostIds);
  const allowed = planOrphans({ ...given, removalAllowedUntil: at(NOW + 1) });
  expect([allowed.lost, allowed.remove.length]).toEqual([[], 5]);
});
