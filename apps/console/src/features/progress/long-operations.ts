import { isChanging, rentalTitle, type Rental } from '../rentals/rental.ts';
import { rentalProgress } from '../rentals/steps.ts';

/** Text of the tab's title while something starts or ends. */

export interface LongOperation {
  /** Path of its page. */
  readonly href: string;
  readonly name: string;
  readonly doing: string;
  /** Step that runs and number of steps; null if unknown. */
  readonly step: { readonly now: number; readonly of: number } | null;
}

type ProgressFields = Parameters<typeof rentalProgress>[0] & Parameters<typeof rentalTitle>[0];

/** Null if the rental does not change. */
export function rentalOperation(
  rental: ProgressFields & Pick<Rental, 'id'>,
  nowMs: number,
): LongOperation | null {
  if (!isChanging(rental)) return null;
  const steps = rentalProgress(rental, nowMs) ?? [];
  // Before the first step is reported, the first planned one is next.
  const running = steps.findLastIndex(({ status }) => status !== 'waiting');
  return {
    href: `/rentals/${String(rental.id)}`,
    name: rentalTitle(rental),
    doing: doingText(rental),
    step: steps.length < 2 ? null : { now: Math.max(1, running + 1), of: steps.length },
  };
}

function doingText({ status }: Pick<Rental, 'status'>): string {
  if (status === 'Terminating') return 'Terminating';
  return status === 'Pending' ? 'Starting' : 'Changing power';
}

export function instanceOperation(id: string, status: string): LongOperation | null {
  if (status !== 'creating' && status !== 'starting') return null;
  return { href: `/instances/${encodeURIComponent(id)}`, name: id, doing: 'Starting', step: null };
}

/** `Starting 2 of 5 · my-machine`. The operation of the open page comes first; several others are counted. */
export function progressText(operations: readonly LongOperation[], pathname: string): string | null {
  const [first] = operations;
  if (first === undefined) return null;
  const shown = operations.find(({ href }) => href === pathname) ?? (operations.length === 1 ? first : null);
  if (shown === null) return `${String(operations.length)} in progress`;
  const { doing, step, name } = shown;
  const steps = step === null ? '' : ` ${String(step.now)} of ${String(step.of)}`;
  return `${doing}${steps} · ${name}`;
}
