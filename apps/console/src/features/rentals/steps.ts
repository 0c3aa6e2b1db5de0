import {
  createRentalSteps,
  releaseRentalSteps,
  startRentalSteps,
  powerOnSteps,
  typicalDurationText,
  type ExpectedSteps,
  type Step,
} from '@millrace/sdk/text';
import type { Rental } from './rental.ts';

/** One step of a rental's progress. */
export interface StepView {
  readonly key: string;
  /** Name in the API. */
  readonly name: string;
  /** Description, such as `Find a host`. */
  readonly title: string;
  readonly status: Step['status'];
  readonly elapsedMs: number | null;
  /** Usual duration, or that it takes longer; for the running step only. */
  readonly usual: string | null;
  readonly message: string | null;
}

type Fields = Pick<
  Rental,
  'status' | 'rentalType' | 'startedAt' | 'steps' | 'statusSince' | 'updatedAt' | 'power'
>;

/** The description of a step, because names in the API such as `prove` are not plain words. */
export function stepTitle(name: string, does: string = name.replaceAll(/[_-]/g, ' ')): string {
  return does.slice(0, 1).toUpperCase() + does.slice(1);
}

/** The current plan and its reported steps; null if nothing is in progress. */
function currentPlan(
  rental: Fields,
): { readonly plan: ExpectedSteps; readonly steps: readonly Step[] } | null {
  const { status, steps } = rental;
  if (status === 'Terminating')
    return { plan: releaseRentalSteps, steps: [runningSince('release', rental.statusSince)] };
  if (status === 'Pending' && rental.startedAt === null) {
    return { plan: createRentalSteps[rental.rentalType], steps };
  }
  if (status === 'Pending') {
    return { plan: startRentalSteps, steps: steps.slice(firstSince(steps, rental.statusSince)) };
  }
  if (status === 'Running' && rental.power === 'changing') {
    return { plan: switching, steps: [runningSince('switch', rental.updatedAt ?? rental.statusSince)] };
  }
  return null;
}

/** The API does not say whether the machine is starting or stopping. */
const switching: ExpectedSteps = powerOnSteps.map((step) => ({
  ...step,
  name: 'switch',
  does: 'the power state changes',
}));

/** Index of the first step since a time; the length if none is reported yet. */
function firstSince(steps: readonly Step[], since: string): number {
  const index = steps.findIndex(({ startedAt }) => startedAt !== null && startedAt >= since);
  return index < 0 ? steps.length : index;
}

function runningSince(name: string, startedAt: string): Step {
  return { name, status: 'running', startedAt, endedAt: null, message: null };
}

function elapsedMs({ status, startedAt, endedAt }: Step, nowMs: number): number | null {
  if (startedAt === null) return null;
  const endMs = status === 'running' ? nowMs : endedAt === null ? null : Date.parse(endedAt);
  // Clocks differ, so the duration is at least zero.
  return endMs === null ? null : Math.max(0, endMs - Date.parse(startedAt));
}

function toStepView(step: Step, index: number, plan: ExpectedSteps, nowMs: number): StepView {
  const planned = plan.find(({ name }) => name === step.name);
  const lastsMs = elapsedMs(step, nowMs);
  return {
    key: `${step.name} ${step.startedAt ?? String(index)}`,
    name: step.name,
    title: stepTitle(step.name, planned?.does),
    status: step.status,
    elapsedMs: lastsMs,
    usual: step.status === 'running' && planned !== undefined ? typicalDurationText(lastsMs, planned) : null,
    message: step.message,
  };
}

/** Reported steps, then pending ones; none after a failure. */
export function rentalProgress(rental: Fields, nowMs: number): readonly StepView[] | null {
  const way = currentPlan(rental);
  if (way === null) return null;
  const { plan, steps } = way;
  const last = steps.at(-1);
  const position = plan.findLastIndex(({ name }) => name === last?.name);
  const ahead = last?.status === 'failed' ? [] : plan.slice(position + 1);
  const toCome = ahead.map(({ name, does }): StepView => ({
    key: `to come: ${name}`,
    name,
    title: stepTitle(name, does),
    status: 'waiting',
    elapsedMs: null,
    usual: null,
    message: null,
  }));
  return [...steps.map((step, index) => toStepView(step, index, plan, nowMs)), ...toCome];
}

export function pastSteps(rental: Pick<Rental, 'steps' | 'rentalType'>, nowMs: number): readonly StepView[] {
  const plan = [...createRentalSteps[rental.rentalType], ...startRentalSteps, ...releaseRentalSteps];
  return rental.steps.map((step, index) => toStepView(step, index, plan, nowMs));
}

/** Termination takes seconds; after this time the page says that it is stuck and not billed. */
export const stuckAfterMs = 120_000;

export function isTerminationStuck(rental: Pick<Rental, 'status' | 'statusSince'>, nowMs: number): boolean {
  return rental.status === 'Terminating' && nowMs - Date.parse(rental.statusSince) > stuckAfterMs;
}
