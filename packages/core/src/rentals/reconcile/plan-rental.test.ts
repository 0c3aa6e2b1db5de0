import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planRental, type RentalPlan } from './plan-rental.ts';
import { defaultRentalPolicy } from '../model/policy.ts';
import type { MachineStage, RentalMachine, RentalView } from '../model/rental.ts';
import { at, machineWith, rentalWith, running, viewOf } from '../view.fixture.ts';

const now = at(1_000);
const ready = { state: 'ready' } as const;
const plan = (view: RentalView, due: { at: Date } | null = null): RentalPlan =>
  planRental(view, { now, policy: defaultRentalPolicy, due, storage: ready });
const doings = (view: RentalView, due: { at: Date } | null = null): string[] =>
  plan(view, due).steps.map((step) => step.do);

describe('planRental for a Pending rental', () => {
  it.each<[string, Partial<RentalMachine>, string[]]>([
    ['creates a wanted machine', { state: 'wanted' }, ['create']],
    ['revives a machine that was verified before', { state: 'wanted', hostKey: 'SHA256:x' }, ['revive']],
    ['verifies a created machine', { state: 'made' }, ['prove']],
    ['hands over a verified machine', { state: 'proven' }, ['open']],
  ])('%s', (_, machine, steps) => {
    expect(doings(viewOf(rentalWith(), machineWith(machine)))).toEqual(steps);
  });

  it('waits for the retry of a machine, but not past the deadline', () => {
    const waiting = machineWith({ state: 'made', nextTryAt: at(2_000) });
    expect(plan(viewOf(rentalWith(), waiting))).toEqual({ steps: [], wait: at(2_000) });
    const soon = rentalWith({ taskDeadlineAt: at(1_500) });
    expect(plan(viewOf(soon, waiting)).wait).toEqual(at(1_500));
  });

  it('abandons the attempt at its deadline in any machine state', () => {
    const late = rentalWith({ taskDeadlineAt: now });
    for (const state of ['wanted', 'made', 'proven'] as const) {
      expect(doings(viewOf(late, machineWith({ state })))).toEqual(['give up']);
    }
  });

  it('waits for an ordered volume before the hand-over', () => {
    const around = { now, policy: defaultRentalPolicy, due: null };
    const pending = { ...around, storage: { state: 'pending' } } as const;
    const view = viewOf(rentalWith({ kind: 'bare-metal' }), machineWith({ state: 'proven' }));
    expect(planRental(view, pending)).toEqual({
      steps: [],
      wait: at(1_000 + defaultRentalPolicy.storageLookMs),
    });
    const unproven = viewOf(rentalWith({ kind: 'bare-metal' }), machineWith({ state: 'made' }));
    expect(planRental(unproven, pending).steps).toMatchObject([{ do: 'prove' }]);
    const late = viewOf(
      rentalWith({ kind: 'bare-metal', taskDeadlineAt: now }),
      machineWith({ state: 'proven' }),
    );
    expect(planRental(late, pending).steps).toMatchObject([{ do: 'fail' }]);
    const failed = { ...around, storage: { state: 'failed', why: 'No room.' } } as const;
    expect(planRental(unproven, failed).steps).toEqual([{ do: 'fail', why: 'No room.' }]);
  });

  it('waits for the start date of a private cloud and then hands it over', () => {
    const cloudFrom = (startsAt: Date) =>
      rentalWith({
        kind: 'bare-metal',
        taskDeadlineAt: now,
        privateCloud: {
          nodes: [],
          sshUser: 'ada',
          sshPort: 22,
          gpuModel: null,
          location: null,
          salesContractExternalId: null,
          startsAt: startsAt.toISOString(),
        },
      });
    expect(plan(viewOf(cloudFrom(at(5_000))))).toEqual({ steps: [], wait: at(5_000) });
    expect(doings(viewOf(cloudFrom(now)))).toEqual(['hand over']);
  });

  it('executes an expired TTL', () => {
    expect(doings(viewOf(rentalWith(), machineWith()), { at: now })).toEqual(['carry out']);
  });

  it('hands over only when all machines are verified', () => {
    const two = [machineWith({ state: 'proven' }), machineWith({ position: 2, state: 'made' })];
    expect(doings(viewOf(rentalWith({ nodeCount: 2 }), ...two))).toEqual(['prove']);
    const ready = two.map((machine) => ({ ...machine, state: 'proven' as const }));
    expect(doings(viewOf(rentalWith({ nodeCount: 2 }), ...ready))).toEqual(['open']);
  });

  it('creates the machine on the new host while the first one is deleted', () => {
    const moved = rentalWith({ attempt: 2 });
    const left = machineWith({ state: 'doomed', terminatingSince: at(0) });
    expect(doings(viewOf(moved, left, machineWith({ attempt: 2 })))).toEqual(['create', 'cut']);
  });
});

describe('planRental for an ending rental', () => {
  const ending = rentalWith({ status: 'Terminating', task: 'release', endAcceptedAt: at(0) });
  it('disconnects first, then deletes the machine, then ends', () => {
    const terminating = machineWith({ state: 'doomed', terminatingSince: at(0) });
    expect(doings(viewOf(ending, terminating))).toEqual(['cut']);
    expect(doings(viewOf(ending, { ...terminating, cutAt: at(10) }))).toEqual(['remove']);
    expect(doings(viewOf(ending))).toEqual(['end']);
  });

  it('ignores due actions', () => {
    expect(doings(viewOf(ending), { at: at(0) })).toEqual(['end']);
    expect(doings(viewOf({ ...ending, status: 'Failed' }), { at: at(0) })).toEqual(['end']);
  });

  it('plans nothing after Terminated', () => {
    expect(plan(viewOf(rentalWith({ status: 'Terminated', task: null })), { at: at(0) })).toEqual({
      steps: [],
      wait: null,
    });
  });
});

describe('planRental for a Running rental', () => {
  const open = machineWith({ state: 'open', hostKey: 'SHA256:x' });
  it('waits for the next due action or the periodic check', () => {
    const checkUp = new Date(now.getTime() + defaultRentalPolicy.checkUpMs);
    expect(plan(viewOf(running(), open))).toEqual({ steps: [], wait: checkUp });
    expect(plan(viewOf(running(), open), { at: at(5_000) }).wait).toEqual(at(5_000));
    expect(doings(viewOf(running(), open), { at: now })).toEqual(['carry out']);
  });

  it('executes the requested task unless an action is due', () => {
    const stopping = running({ task: 'stop', taskDeadlineAt: at(9_000) });
    expect(doings(viewOf(stopping, open))).toEqual(['stop']);
    expect(doings(viewOf(stopping, open), { at: now })).toEqual(['carry out']);
    const waiting = { ...open, nextTryAt: at(3_000) };
    expect(plan(viewOf(stopping, waiting))).toMatchObject({ steps: [], wait: at(3_000) });
  });

  it('retries user data while the machine is on and no task is in progress', () => {
    const left = { userData: '#!/bin/sh\n', power: 'on' } as const;
    expect(doings(viewOf(running(left), open))).toEqual(['user data']);
    expect(doings(viewOf(running(left), open), { at: now })).toEqual(['carry out']);
    expect(plan(viewOf(running(left), { ...open, nextTryAt: at(3_000) })).wait).toEqual(at(3_000));
    expect(doings(viewOf(running({ ...left, power: 'off' }), open))).toEqual([]);
    const stopping = running({ ...left, task: 'stop', taskDeadlineAt: at(9_000) });
    expect(doings(viewOf(stopping, open))).toEqual(['stop']);
  });

  it('confirms an unfinished start unless a power task is in progress', () => {
    const starting = { ...open, starting: true };
    const on = { power: 'on' } as const;
    expect(doings(viewOf(running(on), starting))).toEqual(['settle']);
    expect(plan(viewOf(running(on), { ...starting, nextTryAt: at(3_000) })).wait).toEqual(at(3_000));
    const left = running({ ...on, userData: '#!/bin/sh\n' });
    expect(doings(viewOf(left, starting))).toEqual(['user data', 'settle']);
    const stopping = running({ task: 'stop', taskDeadlineAt: at(9_000), power: 'changing' });
    expect(doings(viewOf(stopping, starting))).toEqual(['stop']);
    expect(doings(viewOf(running({ power: 'off' }), starting))).toEqual([]);
  });

  it('executes no power task while Unknown, but executes due actions', () => {
    const unknown = running({
      status: 'Unknown',
      unhealthySince: at(0),
      task: 'stop',
      taskDeadlineAt: at(9_000),
    });
    expect(doings(viewOf(unknown, open))).toEqual([]);
    expect(doings(viewOf(unknown, open), { at: now })).toEqual(['carry out']);
  });
});

describe('planRental for any rows', () => {
  const stages: readonly MachineStage[] = ['wanted', 'made', 'proven', 'open', 'doomed'];
  const statuses = ['Pending', 'Running', 'Unknown', 'Failed', 'Terminating'] as const;
  const anyView = fc
    .record({
      status: fc.constantFrom(...statuses),
      attempt: fc.integer({ min: 1, max: 2 }),
      machines: fc.array(
        fc.record({
          state: fc.constantFrom(...stages),
          attempt: fc.integer({ min: 1, max: 2 }),
          nextTryMs: fc.option(fc.integer({ min: 0, max: 5_000 })),
          isCut: fc.boolean(),
        }),
        { maxLength: 4 },
      ),
      task: fc.constantFrom('stop' as const, 'start' as const, 'reboot' as const, null),
    })
    .map(({ status, attempt, machines, task }) => {
      const leaving = status === 'Failed' || status === 'Terminating';
      const doing = status === 'Pending' ? 'provision' : leaving ? 'release' : task;
      const rental = rentalWith({ status, attempt, task: doing, startedAt: at(0) });
      const rows = machines.map((machine, index) =>
        machineWith({
          position: index + 1,
          attempt: machine.attempt,
          state: leaving ? 'doomed' : machine.state,
          nextTryAt: machine.nextTryMs === null ? null : at(machine.nextTryMs),
          cutAt: machine.isCut ? at(0) : null,
        }),
      );
      return viewOf(rental, ...rows);
    });

  it('returns a step or a later check until the rental has ended', () => {
    fc.assert(
      fc.property(anyView, fc.option(fc.integer({ min: 0, max: 5_000 })), (view, dueMs) => {
        const { steps, wait } = plan(view, dueMs === null ? null : { at: at(dueMs) });
        expect(steps.length > 0 || wait !== null).toBe(true);
        if (steps.length === 0) expect(Number(wait)).toBeGreaterThan(now.getTime());
      }),
    );
  });

  it('disconnects and deletes exactly the machines that are marked for deletion', () => {
    fc.assert(
      fc.property(anyView, (view) => {
        for (const step of plan(view).steps) {
          if (!('machine' in step)) continue;
          const removes = step.do === 'cut' || step.do === 'remove';
          expect(step.machine.state === 'doomed').toBe(removes);
        }
      }),
    );
  });
});
