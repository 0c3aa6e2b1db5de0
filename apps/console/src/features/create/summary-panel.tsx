import type { Output } from '@millrace/sdk';
import { ChevronDown, ChevronUp } from 'lucide-react';
import { useState } from 'react';
import { useSession } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { LiveCost, Money, PerHour } from '../../ui/money.tsx';
import { Loading, Note, Problem } from '../../ui/states.tsx';
import { isRejection, fixForReason, type Blocker, type Quote, type BlockerFix } from './blockers.ts';
import { ReservationForm } from '../catalog/reservation-form.tsx';
import { PlacementExplanation } from '../catalog/explanation.tsx';
import { FORM_ID } from './form-id.ts';
import type { RentalSpec } from '../catalog/selection.ts';
import { hourlyPriceLines, summaryLines, type Line, type SpendingLimits } from './summary.ts';
import { toProblem } from '../../api/problem.ts';
import { TextLink } from '../../ui/link.tsx';

export interface SummaryProps {
  readonly spec: RentalSpec;
  readonly quote: Quote | undefined;
  /** False: the quote is for an earlier choice. */
  readonly isCurrent: boolean;
  readonly quoteError: Error | null;
  readonly onRetry: () => void;
  readonly funds: SpendingLimits;
  readonly blockers: readonly Blocker[];
  readonly explained: Output<'explainPlacement'> | undefined;
  readonly isCreating: boolean;
  readonly createError: Error | null;
}

/** Price summary, beside the form or at the bottom of a small screen. */
export function SummaryPanel(summary: SummaryProps) {
  return (
    <>
      <aside
        aria-label="Summary"
        className="hidden lg:sticky lg:top-6 lg:block lg:max-h-[calc(100dvh-3rem)] lg:self-start lg:overflow-y-auto"
      >
        <section className="border-line bg-surface flex flex-col gap-3 rounded-lg border p-4">
          <h2>Summary</h2>
          <CostFigures {...summary} />
          <CreateButton {...summary} />
          <BlockerList {...summary} />
        </section>
      </aside>
      <BottomBar {...summary} />
    </>
  );
}

function BottomBar(summary: SummaryProps) {
  const [isOpen, setOpen] = useState(false);
  const [first] = summary.blockers;
  return (
    <aside
      aria-label="Summary"
      className="border-line bg-surface sticky bottom-0 z-20 -mx-4 border-t px-4 py-3 sm:-mx-6 sm:px-6 lg:hidden"
    >
      {isOpen && (
        <div className="mb-3 flex max-h-[60dvh] flex-col gap-3 overflow-y-auto">
          <CostFigures {...summary} />
          <BlockerList {...summary} />
        </div>
      )}
      <div className="flex flex-wrap items-center justify-between gap-2">
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
          className="flex min-w-0 items-center gap-1.5 text-left"
        >
          {isOpen ? (
            <ChevronDown aria-hidden className="size-4" />
          ) : (
            <ChevronUp aria-hidden className="size-4" />
          )}
          <span className="flex flex-col">
            <span className="text-base font-semibold">
              {summary.quote === undefined ? '…' : <PerHour nano={summary.quote.costPerHourNanoUsd} />}
              <LiveCost nano={summary.quote?.live?.costPerHourNanoUsd} perHour />
            </span>
            <span className="text-soft text-xs">{isOpen ? 'Hide details' : 'Show details'}</span>
          </span>
        </button>
        <CreateButton {...summary} />
      </div>
      {!isOpen && first !== undefined && <p className="text-soft mt-1 text-xs">{first.why}</p>}
      {!isOpen && summary.createError !== null && (
        <div className="mt-2">
          <CreateError {...summary} />
        </div>
      )}
    </aside>
  );
}

function CreateButton({ blockers, isCreating, spec }: SummaryProps) {
  return (
    <Button
      type="submit"
      form={FORM_ID}
      kind="primary"
      busy={isCreating && 'Creating…'}
      off={blockers[0]?.why}
      className="lg:w-full"
    >
      {spec.type === 'bare-metal' ? 'Create machines' : 'Create machine'}
    </Button>
  );
}

function CostFigures({ quote, isCurrent, quoteError, onRetry, funds }: SummaryProps) {
  const { mode } = useSession().place;
  if (quoteError !== null) return <Problem error={quoteError} doing="get the price" retry={onRetry} />;
  if (quote === undefined) return <Loading what="the price" />;
  return (
    <div aria-busy={!isCurrent} className={isCurrent ? '' : 'opacity-60'}>
      <p className="text-2xl font-semibold">
        <PerHour nano={quote.costPerHourNanoUsd} />
        <LiveCost nano={quote.live?.costPerHourNanoUsd} perHour />
      </p>
      <p className="text-soft text-xs">{isCurrent ? billingText(mode) : 'Updating the price…'}</p>
      <Lines lines={hourlyPriceLines(quote)} />
      <hr className="border-line my-2" />
      <Lines lines={summaryLines(quote, funds)} />
    </div>
  );
}

const billingText = (mode: 'live' | 'test'): string =>
  mode === 'test'
    ? 'Test mode is free. Live mode bills by the second once the machine is ready.'
    : 'Billed by the second once the machine is ready.';

function Lines({ lines }: Readonly<{ lines: readonly Line[] }>) {
  return (
    <dl className="mt-2 flex flex-col gap-1.5">
      {lines.map(({ label, value, live, note }) => (
        <div key={label} className="flex flex-wrap items-baseline justify-between gap-x-3">
          <dt className="text-soft min-w-0 break-words">{label}</dt>
          <dd className="ml-auto text-right font-medium">
            <Value value={value} />
            {live !== undefined && (
              <LiveCost nano={live.nano} {...(live.unit === '/h' && { perHour: true })} />
            )}
          </dd>
          {note !== undefined && <dd className="text-soft basis-full text-xs">{note}</dd>}
        </div>
      ))}
    </dl>
  );
}

function Value({ value }: Pick<Line, 'value'>) {
  if (typeof value === 'string') return value;
  return value.unit === '/h' ? <PerHour nano={value.nano} /> : <Money nano={value.nano} />;
}

function BlockerList(summary: SummaryProps) {
  const { spec, blockers, explained, createError } = summary;
  return (
    <>
      {createError !== null && <CreateError {...summary} />}
      {blockers.length > 0 && (
        <div>
          <h3>Before you can create</h3>
          <ul className="mt-1 flex list-disc flex-col gap-1 pl-4">
            {blockers.map(({ why, step }) => (
              <li key={why}>
                {why} <FixLink step={step} />
              </li>
            ))}
          </ul>
        </div>
      )}
      {explained !== undefined && (
        <Note tone="warn">
          <PlacementExplanation spec={spec} explained={explained} />
          <details className="mt-2">
            <summary className="font-medium">Request more capacity</summary>
            <ReservationForm gpuCount={spec.count} />
          </details>
        </Note>
      )}
    </>
  );
}

function CreateError({ createError }: SummaryProps) {
  const step = fixForReason(toProblem(createError).reason);
  return (
    <div className="flex flex-col gap-1">
      <Problem error={createError} doing="create the machine" />
      <p>
        {isRejection(createError)
          ? 'Nothing was created or charged.'
          : 'The machine may have been created. Try again: the same order is never carried out twice.'}{' '}
        <FixLink step={step} />
      </p>
    </div>
  );
}

function FixLink({ step }: Readonly<{ step: BlockerFix | null }>) {
  switch (step) {
    case 'top-up':
      return <TextLink to="/money">Top up</TextLink>;
    case 'budgets':
      return <TextLink to="/budgets">Change budget</TextLink>;
    case 'ssh-key':
      return (
        <a href="#ssh-keys" className="underline">
          Add or choose an SSH key
        </a>
      );
    case 'alternatives':
      return (
        <span>
          Choose another size or region, or{' '}
          <TextLink to="/catalog" search={{ available: true }}>
            see what is available
          </TextLink>
          .
        </span>
      );
    case 'catalog':
      return <TextLink to="/catalog">Browse the catalog</TextLink>;
    case 'team':
      return <TextLink to="/team">See who can change your role</TextLink>;
    case null:
      return null;
  }
}
