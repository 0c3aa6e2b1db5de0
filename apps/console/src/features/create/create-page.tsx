import { randomRentalName } from '@millrace/sdk/text';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Cpu } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { toProblem } from '../../api/problem.ts';
import { useApiMutation, useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { CommandHint } from '../../ui/copy.tsx';
import { PageHeader } from '../../ui/page.tsx';
import { EmptyState, Problem, QueryView } from '../../ui/states.tsx';
import { useMemberOffers } from '../catalog/use-offers.ts';
import { machineTypeText, type Offer } from '../catalog/offers.ts';
import { attemptFor, randomBelowFrom, type IdempotentAttempt } from './idempotency.ts';
import { findBlockers, fixForReason } from './blockers.ts';
import { createCommand, USER_DATA_FILE } from './command.ts';
import {
  idleRuleIssues,
  idleRuleDisabledReason,
  newDraft,
  parseDraft,
  type Draft,
  type CreateRequest,
} from './draft.ts';
import { FORM_ID } from './form-id.ts';
import { KeysCard, useSshKeys } from './keys-card.tsx';
import { MachineCard } from './machine-card.tsx';
import { AdvancedCard, NameCard } from './advanced-card.tsx';
import {
  selectionFromSpec,
  resolveSpec,
  type RentalSelection,
  type RentalSpec,
} from '../catalog/selection.ts';
import { SummaryPanel } from './summary-panel.tsx';
import { termsFor } from './summary.ts';
import { TermCard } from './term-card.tsx';
import { quoteRequestFor, useBalanceAndBudgets, useQuote } from './use-quote.ts';
import { useVolumes, VolumeCard } from './volume-card.tsx';
import { Form } from '../../ui/form.tsx';
import { TextLink } from '../../ui/link.tsx';

/** Rent form on the left, price summary on the right. */
export function CreatePage() {
  const offers = useMemberOffers();
  const picks = useSearch({ from: '/shell/inside/rent' });
  return (
    <>
      <PageHeader title="Rent a machine" back={<TextLink to="/catalog">Catalog</TextLink>} />
      <QueryView query={offers} what="offers">
        {(data) => <ResolvedSpec picks={picks} offers={data.offers} />}
      </QueryView>
    </>
  );
}

function ResolvedSpec({ picks, offers }: Readonly<{ picks: RentalSelection; offers: readonly Offer[] }>) {
  const navigate = useNavigate();
  const request = resolveSpec(picks, offers);
  const whole = request === null ? null : JSON.stringify(selectionFromSpec(request));
  const isWhole = whole === JSON.stringify(picks);
  useEffect(() => {
    // Write defaults to the URL once, so that the choice does not change when another offer becomes cheaper.
    if (whole !== null && !isWhole) {
      void navigate({ to: '/rent', search: JSON.parse(whole) as RentalSelection, replace: true });
    }
  }, [whole, isWhole, navigate]);
  if (request === null) {
    return (
      <EmptyState icon={Cpu} title="No offers yet">
        Machines appear here when the operator adds them.
      </EmptyState>
    );
  }
  return <OrderForm spec={request} offers={offers} />;
}

function random32(): number {
  return globalThis.crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
}

function useSelection(spec: RentalSpec) {
  const navigate = useNavigate();
  const go = (search: RentalSelection): void =>
    void navigate({ to: '/rent', search, replace: true, resetScroll: false });
  return {
    // Machine types are sold in different locations, so choose the location again.
    pick: (next: RentalSelection): void =>
      go({ ...(next.type === undefined ? selectionFromSpec(spec) : {}), ...next }),
    pickDays: (days: number | null): void => {
      const { days: _, ...rest } = selectionFromSpec(spec);
      go({ ...rest, ...(days !== null && { days }) });
    },
  };
}

function useReserveTerms({ gpu, type }: RentalSpec) {
  return useApiQuery(
    ['catalog', 'reserve', gpu, type],
    async (client, signal) =>
      client.options.listReserve({ gpuType: gpu, machineType: type, limit: 200 }, { signal }).all(),
    { keepPrevious: true },
  );
}

function ReserveProblem({ terms }: Readonly<{ terms: ReturnType<typeof useReserveTerms> }>) {
  if (terms.error === null) return null;
  return (
    <div className="mb-4">
      <Problem error={terms.error} doing="load the reserved terms" retry={() => void terms.refetch()} />
    </div>
  );
}

function OrderForm({ spec, offers }: Readonly<{ spec: RentalSpec; offers: readonly Offer[] }>) {
  const { mayNot, me } = useSession();
  const [draft, setDraft] = useState(() => newDraft(randomRentalName(randomBelowFrom(random32))));
  const change = (part: Partial<Draft>): void => setDraft((before) => ({ ...before, ...part }));
  const selection = useSelection(spec);
  const read = parseDraft(draft, spec);
  const request = quoteRequestFor(spec, draft, read);
  const create = useCreate(read.order);
  const review = useQuote(request, spec, fixForReason(toProblem(create.error).reason) === 'alternatives');
  const idleProblem = idleRuleDisabledReason(spec, review.shown?.idleRules);
  const issues = { ...read.issues, ...idleRuleIssues(draft, idleProblem) };
  const funds = useBalanceAndBudgets();
  const keys = useSshKeys();
  const reserve = useReserveTerms(spec);
  const volumes = useVolumes(draft.volume === 'existing');
  const blockers = findBlockers({
    mayNot: mayNot('rentals:write'),
    isSuspended: me.organisation.status === 'suspended',
    isFrozen: funds.isFrozen,
    spec,
    issues,
    keysChosen: keys.data === undefined ? null : (draft.sshKeyIds ?? keys.data).length,
    priced: review.priced,
    availableNanoUsd: funds.availableNanoUsd,
    budgets: funds.budgets,
    maxNanoUsd: read.maxNanoUsd,
    ttlSeconds: read.ttlSeconds,
  });
  const volume = volumes.data?.find(({ id }) => id === draft.volumeId)?.label ?? null;
  return (
    <div className="lg:grid lg:grid-cols-[1fr_21rem] lg:gap-6">
      <Form
        id={FORM_ID}
        aria-label={`Rent a ${machineTypeText(spec.type)}`}
        className="hidden"
        onSend={() => {
          if (blockers.length === 0) create.send(() => review.retry());
        }}
      />
      <div className="min-w-0">
        <MachineCard spec={spec} offers={offers} onPick={selection.pick} />
        <TermCard
          spec={spec}
          terms={termsFor(reserve.data ?? [], spec)}
          convert={draft.convert}
          onDays={selection.pickDays}
          onConvert={(convert) => change({ convert })}
        />
        <QueryView query={keys} what="SSH keys">
          {(all) => (
            <KeysCard keys={all} chosen={draft.sshKeyIds} onChoose={(sshKeyIds) => change({ sshKeyIds })} />
          )}
        </QueryView>
        <NameCard draft={draft} issues={issues} onChange={change} />
        {spec.type === 'bare-metal' && (
          <VolumeCard spec={spec} draft={draft} issues={issues} onChange={change} />
        )}
        <AdvancedCard spec={spec} idleProblem={idleProblem} draft={draft} issues={issues} onChange={change} />
        <ReserveProblem terms={reserve} />
        <CommandHint command={createCommand(read.order, spec, volume)} />
        {draft.userData.trim() !== '' && (
          <p className="text-soft mt-1 text-xs">Save the user data as {USER_DATA_FILE} first.</p>
        )}
      </div>
      <SummaryPanel
        spec={spec}
        quote={review.shown}
        isCurrent={review.isCurrent}
        quoteError={review.error}
        onRetry={review.retry}
        funds={{ ...funds, ttlSeconds: read.ttlSeconds, maxNanoUsd: read.maxNanoUsd, convert: draft.convert }}
        blockers={blockers}
        explained={review.explained}
        isCreating={create.isCreating}
        createError={create.error}
      />
    </div>
  );
}

/** Creates the rental once, however often the button is pressed, and opens its page. */
function useCreate(order: CreateRequest) {
  const navigate = useNavigate();
  const attempt = useRef<IdempotentAttempt | null>(null);
  const mutation = useApiMutation(
    async (client, sent: IdempotentAttempt & { readonly order: CreateRequest }) => {
      const options = { idempotencyKey: sent.key };
      return sent.order.type === 'bare-metal'
        ? client.rentals.createBareMetal(sent.order.body, options)
        : client.rentals.createVirtualMachine(sent.order.body, options);
    },
    {
      changes: ['rentals', 'money', 'catalog', 'volumes'],
      onSuccess: ({ id }) =>
        void navigate({ to: '/rentals/$rentalId', params: { rentalId: String(id) }, replace: true }),
    },
  );
  // An error about an earlier version of the order does not apply to this one.
  const isOfThis = attemptFor(null, order, () => '').text === mutation.variables?.text;
  return {
    send: (onRefused: () => void): void => {
      if (mutation.isPending) return;
      attempt.current = attemptFor(attempt.current, order, () => globalThis.crypto.randomUUID());
      mutation.mutate({ order, ...attempt.current }, { onError: onRefused });
    },
    isCreating: mutation.isPending || mutation.isSuccess,
    error: isOfThis ? mutation.error : null,
  };
}
