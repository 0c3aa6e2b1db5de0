import type { Item, Output } from '@millrace/sdk';

/** The way from the application to a machine on the marketplace, from what the service says. */

type Account = Pick<Output<'supplierGetAccount'>, 'status' | 'statusReason' | 'appliedAt' | 'approvedAt'>;
type Enrolment = Pick<
  Item<'supplierListEnrolments'>,
  'stage' | 'name' | 'problem' | 'joinedAt' | 'enrolledAt'
>;
type Machine = Pick<Item<'supplierListMachines'>, 'shown' | 'name' | 'notShownBecause' | 'approval'>;

export interface SupplierState {
  /** Null: not applied. */
  readonly account: Account | null;
  readonly enrolments: readonly Enrolment[];
  readonly machines: readonly Machine[];
}

export interface SupplierStep {
  readonly key: 'apply' | 'review' | 'join' | 'verify' | 'list';
  readonly title: string;
  readonly about: string;
  readonly status: 'done' | 'now' | 'next' | 'failed';
  /** When it was done. */
  readonly at: string | null;
}

const activeStages: readonly string[] = ['trusting', 'inspecting', 'testing'];

interface Progress {
  readonly isDone: boolean;
  readonly isFailed?: boolean;
  readonly at?: string | null;
  readonly about: string;
}

function reviewProgress(account: Account | null): Progress {
  if (account === null)
    return { isDone: false, about: 'The operator reads your application and sets your fee.' };
  const { status, statusReason, approvedAt } = account;
  const reason = statusReason === null ? '' : `: ${statusReason}`;
  if (status === 'rejected')
    return { isDone: false, isFailed: true, about: `Rejected${reason}. You can apply again.` };
  if (status === 'applied') {
    return {
      isDone: false,
      about: 'The operator reads your application. This page updates when it is decided.',
    };
  }
  return {
    isDone: true,
    at: approvedAt,
    about: status === 'suspended' ? `Suspended${reason}.` : 'Approved.',
  };
}

function joinProgress({ enrolments, machines }: SupplierState): Progress {
  const joined = enrolments.filter(({ stage }) => stage !== 'withdrawn' && stage !== 'refused').at(-1);
  if (joined !== undefined)
    return { isDone: true, at: joined.joinedAt, about: `${joined.name} has asked to join.` };
  if (machines.length > 0) return { isDone: true, about: 'Your machine has joined.' };
  return { isDone: false, about: 'Create a join token and run one command on the machine.' };
}

function verifyProgress({ enrolments, machines }: SupplierState): Progress {
  const enrolled = enrolments.find(({ stage }) => stage === 'enrolled');
  if (enrolled !== undefined)
    return { isDone: true, at: enrolled.enrolledAt, about: `${enrolled.name} passed its self-test.` };
  if (machines.length > 0) return { isDone: true, about: 'Your machine passed its self-test.' };
  const active = enrolments.find(({ stage }) => activeStages.includes(stage));
  if (active !== undefined)
    return {
      isDone: false,
      about: `${active.name}: ${active.problem ?? 'trust, hardware and self-test are checked.'}`,
    };
  const refused = enrolments.find(({ stage }) => stage === 'refused');
  if (refused !== undefined)
    return { isDone: false, isFailed: true, about: `${refused.name}: ${refused.problem ?? 'refused'}` };
  return {
    isDone: false,
    about: 'Millrace reads the hardware and measures it with a small machine. This takes some minutes.',
  };
}

function listProgress(machines: readonly Machine[]): Progress {
  const shown = machines.find((machine) => machine.shown);
  if (shown !== undefined) return { isDone: true, about: `${shown.name} can be rented.` };
  const [first] = machines;
  if (first !== undefined)
    return { isDone: false, about: `${first.name}: ${first.notShownBecause ?? 'not listed'}` };
  return { isDone: false, about: 'Set a price and list the machine. The operator approves it once.' };
}

/** The first step that is not done is the current one. */
export function supplierSteps(state: SupplierState): readonly SupplierStep[] {
  const { account, machines } = state;
  const steps: readonly (Progress & Pick<SupplierStep, 'key' | 'title'>)[] = [
    {
      key: 'apply',
      title: 'Apply',
      isDone: account !== null && account.status !== 'rejected',
      at: account?.appliedAt ?? null,
      about: 'Describe yourself and your machines to the operator.',
    },
    { key: 'review', title: 'Review by the operator', ...reviewProgress(account) },
    { key: 'join', title: 'Machine joins', ...joinProgress(state) },
    { key: 'verify', title: 'Machine is checked', ...verifyProgress(state) },
    { key: 'list', title: 'Listed on the marketplace', ...listProgress(machines) },
  ];
  const current = steps.findIndex(({ isDone }) => !isDone);
  return steps.map(({ key, title, about, isDone, isFailed = false, at = null }, index) => ({
    key,
    title,
    about,
    status: isFailed ? 'failed' : isDone ? 'done' : index === current ? 'now' : 'next',
    at: isDone ? at : null,
  }));
}

/** Whether every step is done. */
export const isListed = (steps: readonly SupplierStep[]): boolean =>
  steps.every(({ status }) => status === 'done');
