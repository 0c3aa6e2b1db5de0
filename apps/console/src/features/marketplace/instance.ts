import type { Output } from '@millrace/sdk';
import {
  createRentalSteps,
  releaseRentalSteps,
  typicalDurationText,
  type ExpectedSteps,
} from '@millrace/sdk/text';
import type { StepView } from '../rentals/steps.ts';

/** One instance: what it is billed, how far it is, how often to look. */
export type Instance = Output<'getMarketplaceInstance'>;

const plan: ExpectedSteps = [...createRentalSteps['virtual-machine'], ...releaseRentalSteps];

/** The steps that are told, and while it comes up those that follow. */
export function provisioningSteps(
  { steps, status }: Pick<Instance, 'steps' | 'status'>,
  nowMs: number,
): readonly StepView[] {
  const reported = steps.map((step, index): StepView => {
    const planned = plan.find(({ name }) => name === step.name);
    const endMs = step.status === 'running' ? nowMs : step.endedAt === null ? null : Date.parse(step.endedAt);
    const elapsedMs =
      step.startedAt === null || endMs === null ? null : Math.max(0, endMs - Date.parse(step.startedAt));
    return {
      key: `${step.name} ${String(index)}`,
      name: step.name,
      does: planned?.does ?? null,
      status: step.status,
      elapsedMs,
      usual:
        step.status === 'running' && planned !== undefined ? typicalDurationText(elapsedMs, planned) : null,
      message: step.message,
    };
  });
  if (status !== 'creating' && status !== 'starting') return reported;
  const way = createRentalSteps['virtual-machine'];
  const position = way.findLastIndex(({ name }) => name === reported.at(-1)?.name);
  const toCome = way.slice(position + 1).map(({ name, does }): StepView => ({
    key: `to come: ${name}`,
    name,
    does,
    status: 'waiting',
    elapsedMs: null,
    usual: null,
    message: null,
  }));
  return [...reported, ...toCome];
}

/** What is billed at this moment, and why. */
export function instanceBilling({ status, billingPausedAt }: Pick<Instance, 'status' | 'billingPausedAt'>): {
  readonly isBilled: boolean;
  readonly words: string;
} {
  const free = (words: string) => ({ isBilled: false, words });
  switch (status) {
    case 'creating':
    case 'starting':
      return free('Not billed. Billing begins when the machine is proven usable.');
    case 'online':
      return billingPausedAt === null
        ? { isBilled: true, words: 'Billed by the second.' }
        : free('Not billed: the machine is off, and is switched on again.');
    case 'offline':
      return billingPausedAt === null
        ? {
            isBilled: true,
            words: 'Billed for now. Billing pauses after 5 minutes of silence, which are given back.',
          }
        : free('Not billed: its host is silent.');
    case 'stopping':
      return free('Not billed any more: billing stopped when the end was accepted.');
    case 'failed':
    case 'terminated':
      return free('Not billed any more.');
  }
}

/** How soon to look again; never, once nothing can change. */
export function instanceRefetchMs(instance: Pick<Instance, 'status'> | undefined): number | false {
  switch (instance?.status) {
    case undefined:
    case 'creating':
    case 'starting':
    case 'stopping':
    case 'failed':
      return 1_500;
    case 'online':
    case 'offline':
      return 5_000;
    case 'terminated':
      return false;
  }
}

/** Where a port is reached, as a link where a browser can follow it. */
export function portAddress({ domain, protocol, port }: Instance['ports'][number]): {
  readonly text: string;
  readonly href: string | null;
} {
  if (protocol === 'https' && /^[a-z0-9.-]+$/.test(domain)) {
    const text = port === 443 ? `https://${domain}` : `https://${domain}:${String(port)}`;
    return { text, href: text };
  }
  return { text: `${domain}:${String(port)} (${protocol})`, href: null };
}
