import type { MachineView } from '@millrace/compute';
import { describe, expect, it } from 'vitest';
import {
  observeFromDescribe,
  observeFromList,
  exceedsFloorAndPercent,
  planRepairs,
  lastHealthyAt,
  indexMachines,
  type ComparedRental,
  type ComparisonContext,
  type ObservedRental,
} from './plan-repairs.ts';
import { at, orgId } from '../view.fixture.ts';
import {
  S,
  MINUTE,
  NOW,
  rentalWith,
  unknownSince,
  subject,
  context,
  unanswered,
  troubled,
} from './plan-repairs.fixture.ts';

const instanceWith = (fields: Partial<ComparedRental> = {}): ComparedRental =>
  rentalWith({ kind: 'instance', ...fields });

const off = rentalWith({ power: 'off' });

const window = (from: number, to: number) => ({ startsAt: at(from), endsAt: at(to) });

const inWindow = (one: ObservedRental, from: number, to: number): ObservedRental => ({
  ...one,
  windows: [window(from, to)],
});

const missedBefore = (one: ObservedRental): ObservedRental => ({
  ...one,
  machines: one.machines.map((machine) => ({ ...machine, absentSeen: 1 })),
});

const back = { do: 'back' };

const clear = { do: 'clear' };

const resume = { do: 'resume' };

const start = { do: 'start' };

const showOff = { do: 'power', to: 'off' };

const note = (since: number, missing: readonly number[] = []) => ({ do: 'note', since: at(since), missing });

const unknown = (since: number) => ({ do: 'unknown', since: at(since) });

const pause = (ms: number, because: string) => ({ do: 'pause', at: at(ms), because });

const fail = (ms: number, because: string) => ({ do: 'fail', at: at(ms), because });

describe('planRepairs', () => {
  it.each<[string, ObservedRental, ComparisonContext, readonly unknown[]]>([
    ['leaves a rental that is on', subject(rentalWith(), 'on', 'on'), context(), []],
    ['leaves a stopped rental that is off', subject(off, 'off'), context(), []],
    [
      'ignores a rental that changed after the engine was asked',
      subject(rentalWith({ changedAt: at(NOW) }), 'off'),
      context(),
      [],
    ],
    ['leaves a machine in transition', subject(rentalWith(), 'changing'), context(), []],

    ['shows a shutdown from inside and keeps billing', subject(rentalWith(), 'off'), context(), [showOff]],
    ['shows a machine that is on again', subject(off, 'on'), context(), [{ do: 'power', to: 'on' }]],
    [
      'starts an instance that is off again, unbilled from the observation',
      subject(instanceWith(), 'off'),
      context(),
      [showOff, start, pause(NOW, 'host')],
    ],
    [
      'retries an instance that could not be started, still unbilled',
      subject(instanceWith({ power: 'off', billingPausedAt: at(NOW - 60 * S) }), 'off'),
      context(),
      [start],
    ],
    [
      'pauses billing of an instance that is off and billed',
      subject(instanceWith({ power: 'off' }), 'off'),
      context(),
      [start, pause(NOW, 'host')],
    ],
    [
      'starts an instance that was off before and after its host was unreachable',
      subject(
        unknownSince(NOW - 400 * S, { kind: 'instance', power: 'off', billingPausedAt: at(NOW - 100 * S) }),
        'off',
      ),
      context(),
      [back, start],
    ],
    [
      'notes an instance that its host froze',
      subject(instanceWith(), 'changing'),
      context(),
      [note(NOW - 10 * S)],
    ],
    [
      'pauses billing of a frozen instance from its last healthy time',
      subject(instanceWith({ unhealthySince: at(NOW - 95 * S) }), 'changing'),
      context(),
      [unknown(NOW - 95 * S), pause(NOW - 95 * S, 'host')],
    ],
    [
      'leaves an instance with a task in progress',
      subject(instanceWith({ task: 'start', power: 'changing' }), 'changing'),
      context(),
      [],
    ],
    [
      'stops a released machine that is on',
      subject(rentalWith({ power: 'off', gpuHeld: false }), 'on'),
      context(),
      [{ do: 'stop' }],
    ],
    [
      'leaves a machine that is being stopped',
      subject(rentalWith({ task: 'stop', power: 'changing' }), 'on'),
      context(),
      [],
    ],

    [
      'notes the first report of absence',
      subject(rentalWith(), 'on', 'missing'),
      context(),
      [note(NOW - 10 * S, [2])],
    ],
    [
      'fails the rental after the second report of absence',
      missedBefore(subject(troubled(20 * S), 'missing')),
      context(),
      [unknown(NOW - 20 * S), fail(NOW - 20 * S, 'vanished')],
    ],
    [
      'fails an Unknown rental after the second report of absence',
      missedBefore(subject(unknownSince(NOW - 60 * S), 'missing')),
      context(),
      [fail(NOW - 160 * S, 'vanished')],
    ],
    [
      'clears an absence that was reported once',
      missedBefore(subject(troubled(20 * S), 'on')),
      context(),
      [clear],
    ],
    [
      'does not trust the absence of too many machines',
      missedBefore(subject(troubled(100 * S), 'missing')),
      context({ isVanishingHeld: true }),
      [unknown(NOW - 100 * S)],
    ],

    [
      'notes a machine on an unreachable node',
      subject(rentalWith(), 'unheard'),
      context(),
      [note(NOW - 10 * S)],
    ],
    ['waits while unreachable for 89 s', subject(troubled(89 * S), 'unheard'), context(), []],
    ['sets Unknown after 90 s', subject(troubled(90 * S), 'unheard'), context(), [unknown(NOW - 90 * S)]],
    [
      'does not count unobserved time towards Unknown',
      subject(troubled(10 * MINUTE), 'unheard'),
      context({ watchingSince: at(NOW - 89 * S) }),
      [],
    ],
    [
      'sets Unknown if the engine is silent',
      subject(rentalWith(), 'unheard'),
      unanswered(),
      [unknown(NOW - 95 * S)],
    ],
    [
      'waits if only this process cannot reach the engine',
      subject(rentalWith(), 'unheard'),
      unanswered({ isSilent: false }),
      [],
    ],
    [
      'pauses billing from the last healthy time if one of two hosts is broken',
      subject(troubled(90 * S), 'on', 'broken'),
      context(),
      [unknown(NOW - 90 * S), pause(NOW - 90 * S, 'host')],
    ],

    [
      'keeps billing an Unknown rental for 5 min',
      subject(unknownSince(NOW - 299 * S), 'unheard'),
      unanswered(),
      [],
    ],
    [
      'pauses billing 5 min after Unknown, even if processed late',
      subject(unknownSince(NOW - 400 * S), 'unheard'),
      unanswered(),
      [pause(NOW - 100 * S, 'silence')],
    ],
    [
      'leaves a paused Unknown rental',
      subject(unknownSince(NOW - 400 * S, { billingPausedAt: at(NOW - 100 * S) }), 'unheard'),
      unanswered(),
      [],
    ],
    [
      'moves the pause to the last healthy time if the engine reports an error',
      subject(unknownSince(NOW - 400 * S, { billingPausedAt: at(NOW - 100 * S) }), 'broken'),
      context(),
      [pause(NOW - 500 * S, 'host')],
    ],
    [
      'fails the rental after 30 min',
      subject(unknownSince(NOW - 30 * MINUTE + 100 * S), 'unheard'),
      context(),
      [fail(NOW - 30 * MINUTE, 'host_lost')],
    ],
    [
      'does not count unobserved time towards the 30 min',
      subject(
        unknownSince(NOW - 30 * MINUTE + 100 * S, { billingPausedAt: at(NOW - 25 * MINUTE) }),
        'unheard',
      ),
      context({ watchingSince: at(NOW - 29 * MINUTE) }),
      [],
    ],

    ['sets Running again if the machine is on', subject(unknownSince(NOW - 60 * S), 'on'), context(), [back]],
    [
      'resumes paused billing if the machine is on again',
      subject(unknownSince(NOW - 400 * S, { billingPausedAt: at(NOW - 100 * S) }), 'on'),
      context(),
      [back, resume],
    ],
    [
      'starts a machine that is off after it was unreachable',
      subject(unknownSince(NOW - 400 * S, { billingPausedAt: at(NOW - 100 * S) }), 'off'),
      context(),
      [back, showOff, start, pause(NOW - 500 * S, 'host')],
    ],
    [
      'resumes billing of a machine that was off before',
      subject(unknownSince(NOW - 400 * S, { power: 'off', billingPausedAt: at(NOW - 100 * S) }), 'off'),
      context(),
      [back, resume],
    ],
    [
      'waits for an Unknown machine in transition',
      subject(unknownSince(NOW - 60 * S), 'changing'),
      context(),
      [],
    ],
    ['clears a short interruption', subject(troubled(50 * S), 'on'), context(), [clear]],
    [
      'starts a machine that is off after a short interruption',
      subject(troubled(50 * S), 'off'),
      context(),
      [clear, showOff, start, pause(NOW - 50 * S, 'host')],
    ],
    [
      'retries the start of a machine that its host switched off',
      subject(rentalWith({ power: 'off', billingPausedAt: at(NOW - 60 * S) }), 'off'),
      context(),
      [start],
    ],
    [
      'resumes billing of a machine that is on',
      subject(rentalWith({ billingPausedAt: at(5) }), 'on'),
      context(),
      [resume],
    ],

    [
      'pauses billing of a machine that is off in a window, without a start',
      inWindow(subject(rentalWith(), 'off'), NOW - 5 * S, NOW + MINUTE),
      context(),
      [showOff, pause(NOW - 5 * S, 'maintenance')],
    ],
    [
      'starts a machine that is off after the window',
      subject(rentalWith({ power: 'off', billingPausedAt: at(5) }), 'off'),
      context(),
      [start],
    ],
    [
      'resumes billing of a machine whose GPUs were released',
      subject(rentalWith({ power: 'off', gpuHeld: false, billingPausedAt: at(5) }), 'off'),
      context(),
      [resume],
    ],
    [
      'pauses billing from the start of a window',
      inWindow(subject(troubled(95 * S), 'unheard'), NOW - 80 * S, NOW + MINUTE),
      context(),
      [unknown(NOW - 95 * S), pause(NOW - 80 * S, 'maintenance')],
    ],
    [
      'pauses billing from the last healthy time in a window that started earlier',
      inWindow(subject(troubled(95 * S), 'unheard'), NOW - 10 * MINUTE, NOW + MINUTE),
      context(),
      [unknown(NOW - 95 * S), pause(NOW - 95 * S, 'maintenance')],
    ],
    [
      'does not count maintenance towards the 30 min',
      inWindow(
        subject(unknownSince(NOW - 50 * MINUTE, { billingPausedAt: at(0) }), 'unheard'),
        0,
        NOW - 29 * MINUTE,
      ),
      context(),
      [],
    ],
  ])('%s', (_what, given, around, expected) => {
    expect(planRepairs(given, around)).toEqual(expected);
  });

  it('lastHealthyAt is the later of the last complete comparison and the start of Running', () => {
    const sign = (fields: Partial<ComparedRental>, wholeAt: Date | null) =>
      lastHealthyAt(rentalWith(fields), { now: at(NOW), wholeAt });
    expect(sign({}, at(NOW - 10 * S))).toEqual(at(NOW - 10 * S));
    expect(sign({ statusSince: at(NOW - 3 * S) }, at(NOW - 10 * S))).toEqual(at(NOW - 3 * S));
    expect(sign({}, null)).toEqual(at(0));
    expect(sign({ unhealthySince: at(7) }, at(NOW))).toEqual(at(7));
    expect(sign({}, at(NOW + 5))).toEqual(at(NOW));
  });
});

describe('observed state', () => {
  const ref = { orgId, externalId: 'one', nodeName: 'node-1' };
  const view = (power: MachineView['power']): MachineView => ({
    ...ref,
    power,
    detail: null,
    gpuPciAddresses: [],
    privateIps: [],
    address: null,
    ports: [],
    sshUser: 'ubuntu',
    labels: {},
    createdAt: null,
  });
  const list = (machines: readonly MachineView[], ...unreachableNodes: readonly string[]) => ({
    listed: indexMachines({ machines, unreachableNodes }),
    unreachableNodes: new Set(unreachableNodes),
  });

  it('is taken from the list for healthy machines, else from describe', () => {
    expect(observeFromList(ref, null)).toBe('unheard');
    expect(observeFromList(ref, list([view('on')]))).toBe('on');
    expect(observeFromList(ref, list([view('off')]))).toBe('off');
    expect(observeFromList(ref, list([]))).toBe('doubtful');
    expect(observeFromList(ref, list([], 'node-1'))).toBe('unheard');
    expect(observeFromList(ref, list([view('error')]))).toBe('doubtful');
    expect(observeFromList(ref, list([view('error')], 'node-1'))).toBe('unheard');
    expect([
      observeFromDescribe(null),
      observeFromDescribe(view('error')),
      observeFromDescribe(view('on')),
    ]).toEqual(['missing', 'broken', 'on']);
  });

  it('distinguishes machines with the same id of different organisations', () => {
    const other = { ...ref, orgId: `${orgId}x` as typeof orgId };
    expect(observeFromList(other, list([view('on')]))).toBe('doubtful');
  });
});

it('exceedsFloorAndPercent requires both the floor and the percentage to be exceeded', () => {
  const limit = { floor: 3, percent: 10 };
  expect([
    exceedsFloorAndPercent(3, 3, limit),
    exceedsFloorAndPercent(4, 40, limit),
    exceedsFloorAndPercent(4, 39, limit),
  ]).toEqual([false, false, true]);
});
