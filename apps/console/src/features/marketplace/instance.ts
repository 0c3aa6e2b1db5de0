import type { Output } from '@millrace/sdk';
import {
  createRentalSteps,
  releaseRentalSteps,
  typicalDurationText,
  type ExpectedSteps,
} from '@millrace/sdk/text';
import { stepTitle, type StepView } from '../rentals/steps.ts';

/** Derives billing, steps and poll interval of an instance. */
export type Instance = Output<'getMarketplaceInstance'>;

const plan: ExpectedSteps = [...createRentalSteps['virtual-machine'], ...releaseRentalSteps];

/** Reported steps, and while it starts the expected ones. */
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
      title: stepTitle(step.name, planned?.does),
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
    title: stepTitle(name, does),
    status: 'waiting',
    elapsedMs: null,
    usual: null,
    message: null,
  }));
  return [...reported, ...toCome];
}

export function instanceBilling({ status, billingPausedAt }: Pick<Instance, 'status' | 'billingPausedAt'>): {
  readonly isBilled: boolean;
  readonly words: string;
} {
  const free = (words: string) => ({ isBilled: false, words });
  switch (status) {
    case 'creating':
    case 'starting':
      return free('Not billed. Billing starts when the machine is ready.');
    case 'online':
      return billingPausedAt === null
        ? { isBilled: true, words: 'Billed by the second.' }
        : free('Not billed while the machine is off. It is being restarted.');
    case 'offline':
      return billingPausedAt === null
        ? {
            isBilled: true,
            words:
              'Billed for now. If the host does not respond for 5 minutes, billing pauses and those minutes are refunded.',
          }
        : free('Not billed: the host does not respond.');
    case 'stopping':
      return free('Not billed: billing stopped when the termination was accepted.');
    case 'failed':
    case 'terminated':
      return free('Not billed: billing has ended.');
  }
}

/** Poll interval; false once nothing can change. */
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

/** Address of a port, with a link if a browser can open it. */
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
