import type { RestateDeployment } from '@millrace/platform/restate';
import { describe, expect, test } from 'vitest';
import { planDeployments, type DeploymentPlan } from './plan-deployments.ts';

const deployment = (release: string | null, more: Partial<RestateDeployment> = {}): RestateDeployment => ({
  id: `dp_${release ?? 'unnamed'}`,
  uri: `http://127.0.0.1:9080${release === null ? '' : `/release/${release}`}`,
  release,
  isLatest: false,
  unfinished: 0,
  ...more,
});

type Seen = Pick<Parameters<typeof planDeployments>[0], 'deployments' | 'running'>;

/** The plans of a worker of release 2, which reads the same each time. */
function plansOf(seen: Seen, rounds: number): DeploymentPlan[] {
  const plans: DeploymentPlan[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const absences = plans.at(-1)?.absences ?? new Map<string, number>();
    plans.push(planDeployments({ ...seen, own: 'dp_2', isStart: round === 0, absences }));
  }
  return plans;
}

const removedIn = (plans: readonly DeploymentPlan[]): readonly string[][] =>
  plans.map(({ remove }) => remove.map(({ id }) => id));

describe('planDeployments', () => {
  test('sends new calls to the release that starts, once, and keeps one with running workers', () => {
    const deployments = [deployment('1', { isLatest: true, unfinished: 3 }), deployment('2')];
    const plans = plansOf({ deployments, running: new Set(['1', '2']) }, 20);
    expect(plans.map(({ takeOver }) => takeOver).indexOf(true)).toBe(0);
    expect(plans.filter(({ takeOver }) => takeOver)).toHaveLength(1);
    expect(removedIn(plans).flat()).toEqual([]);
  });

  test('does nothing at a start if new calls go to its release already', () => {
    const [plan] = plansOf(
      { deployments: [deployment('2', { isLatest: true })], running: new Set(['2']) },
      1,
    );
    expect(plan).toMatchObject({ takeOver: false, remove: [] });
  });

  test.each([['1'], [null]])(
    'removes the drained release %s when its workers were absent twice',
    (release) => {
      const deployments = [deployment(release), deployment('2', { isLatest: true })];
      const plans = plansOf({ deployments, running: new Set(['2']) }, 2);
      expect(removedIn(plans)).toEqual([[], [deployment(release).id]]);
    },
  );

  test('waits for the calls of an ended release, and ends them after eight absences', () => {
    const deployments = [deployment('1', { unfinished: 1 }), deployment('2', { isLatest: true })];
    const removed = removedIn(plansOf({ deployments, running: new Set(['2']) }, 8));
    expect(removed.slice(0, 7).flat()).toEqual([]);
    expect(removed[7]).toEqual(['dp_1']);
  });

  test('takes over from a later release whose workers have ended, as after a rollback', () => {
    const deployments = [deployment('2'), deployment('3', { isLatest: true })];
    const [, second] = plansOf({ deployments, running: new Set(['2']) }, 2);
    expect(second).toMatchObject({ takeOver: true, remove: [deployments[1]] });
  });

  test('starts to count absences again after a worker was running again', () => {
    const deployments = [deployment('1'), deployment('2', { isLatest: true })];
    const once = planDeployments({
      ...{ own: 'dp_2', isStart: false, deployments },
      running: new Set(['1', '2']),
      absences: new Map([['dp_1', 7]]),
    });
    expect(once).toMatchObject({ remove: [], absences: new Map() });
  });
});
