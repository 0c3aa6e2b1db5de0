import { useNavigate, useSearch } from '@tanstack/react-router';
import { CreditCard } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useApiMutation, useApiQuery } from '../../api/queries.ts';
import { useInstallation, useSession } from '../../api/session.tsx';
import { StateBadge } from '../../ui/badge.tsx';
import { Button, buttonClass } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { TextField } from '../../ui/field.tsx';
import { PagedTable, usePages } from '../../ui/list.tsx';
import { Money } from '../../ui/money.tsx';
import { Card } from '../../ui/page.tsx';
import { Note, Problem, QueryView } from '../../ui/states.tsx';
import type { Column } from '../../ui/table.tsx';
import { useNow, Timestamp } from '../../ui/time.tsx';
import {
  isInProgress,
  suggestedAmounts,
  returnUrls,
  topUpAmount,
  topUpToWatch,
  topUpStateText,
  type TopUp,
} from './top-up.ts';
import { Form } from '../../ui/form.tsx';
import { LinkButton } from '../../ui/link.tsx';

/** Top-up by card if the installation accepts cards, else through the operator. */
export function TopUpCard() {
  const { place, go } = useSession();
  const installation = useInstallation();
  if (place.mode === 'test') {
    return (
      <Card title="Add money">
        <p className="mb-3">Test mode is free, so it needs no money.</p>
        <Button onClick={() => go({ mode: 'live' })}>Switch to live mode</Button>
      </Card>
    );
  }
  return (
    <Card title="Add money">
      <QueryView query={installation} what="payment methods">
        {({ topUp, name, demo }) => (topUp ? <ByCard /> : <ByOperator operator={name} isDemo={demo} />)}
      </QueryView>
    </Card>
  );
}

interface ByOperatorProps {
  readonly operator: string;
  readonly isDemo: boolean;
}

/** Without card payments, only the operator adds money. Names the next step for operators and for everyone else. */
function ByOperator({ operator, isDemo }: ByOperatorProps) {
  const { may, me, go } = useSession();
  const { id: organisationId, name } = me.organisation;
  return (
    <div className="flex flex-col gap-3">
      <p>
        {isDemo
          ? 'All amounts of this demo are play money. The demo does not accept cards; an operator grants more.'
          : `${operator} does not accept cards. An operator adds money, for example after a bank transfer.`}
      </p>
      {may('admin:money') ? (
        <div>
          <LinkButton to="/operator/organisations/$organisationId" params={{ organisationId }} kind="primary">
            Grant credit as operator
          </LinkButton>
        </div>
      ) : (
        <>
          <p>Send the operator this text:</p>
          <CodeBlock code={`Please add credit to ${name} (${organisationId}).`} what="request for credit" />
          <p className="text-soft">
            The credit appears in your balance and ledger at once. Until then, test mode is free.
          </p>
          <div>
            <Button onClick={() => go({ mode: 'test' })}>Switch to test mode</Button>
          </div>
        </>
      )}
    </div>
  );
}

function ByCard() {
  const { mayNot } = useSession();
  const [amount, setAmount] = useState('25');
  const [wrong, setWrong] = useState<string | undefined>();
  const start = useApiMutation(
    (client, amountCents: number) =>
      client.topUps.create({ amountCents, ...returnUrls(globalThis.location.href) }),
    {
      changes: ['money'],
      onSuccess: ({ checkoutUrl }) => {
        // Checkout is a page of the payment provider, so card numbers never reach our pages.
        if (checkoutUrl !== null) globalThis.location.assign(checkoutUrl);
      },
    },
  );
  const submit = (): void => {
    const request = topUpAmount(amount);
    setWrong('wrong' in request ? request.wrong : undefined);
    if ('cents' in request) start.mutate(request.cents);
  };
  return (
    <div className="flex flex-col gap-4">
      <LastTopUp />
      <Form onSend={submit} className="flex max-w-md flex-col gap-3">
        <div role="group" aria-label="Suggested amounts" className="flex flex-wrap gap-2">
          {suggestedAmounts.map((each) => (
            <Button key={each} size="small" aria-pressed={amount === each} onClick={() => setAmount(each)}>
              ${each}
            </Button>
          ))}
        </div>
        <TextField
          label="Amount (USD)"
          hint="From $5 to $10,000. You pay on the payment provider's page and return here."
          inputMode="decimal"
          value={amount}
          error={wrong}
          onValue={setAmount}
        />
        {start.error !== null && <Problem error={start.error} doing="start the top-up" />}
        <div>
          <Button
            kind="primary"
            type="submit"
            off={mayNot('billing:write')}
            busy={(start.isPending || start.isSuccess) && 'Opening checkout…'}
          >
            Pay by card
          </Button>
        </div>
      </Form>
      <TopUps />
    </div>
  );
}

/** State of the latest payment. The return URL proves nothing, so the payment is read. */
function LastTopUp() {
  const { back } = useSearch({ from: '/shell/inside/money' });
  const navigate = useNavigate();
  const now = useNow(30_000);
  const newest = useApiQuery(
    ['money', 'top-ups', 'newest'],
    async (client, signal): Promise<readonly TopUp[]> =>
      (await client.topUps.list({ limit: 1 }, { signal })).items,
    { refetchMs: (data) => ((data ?? []).some(isInProgress) ? 2_000 : false) },
  );
  const topUp = topUpToWatch(newest.data ?? [], now);
  const settled = topUp !== null && !isInProgress(topUp);
  useEffect(() => {
    // Remove the parameter, so that a reload does not show the message again.
    if (back !== undefined && settled) void navigate({ to: '/money', search: {}, replace: true });
  }, [back, settled, navigate]);
  if (topUp === null) return null;
  const tone = topUp.state === 'paid' ? 'good' : isInProgress(topUp) ? 'info' : 'warn';
  return (
    <div role="status">
      <Note tone={tone}>
        <strong>
          Your latest top-up, <Money nano={topUp.amountNanoUsd} />:
        </strong>{' '}
        {back === 'paid' && topUp.state === 'open'
          ? 'Waiting for the payment provider to confirm your payment.'
          : topUpStateText(topUp.state)}{' '}
        {topUp.checkoutUrl !== null && back !== 'paid' && (
          <a className="underline" href={topUp.checkoutUrl}>
            Continue payment
          </a>
        )}
      </Note>
    </div>
  );
}

const columns: readonly Column<TopUp>[] = [
  { head: 'Date', main: true, cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
  { head: 'Amount', right: true, cell: ({ amountNanoUsd }) => <Money nano={amountNanoUsd} /> },
  { head: 'Status', cell: ({ state }) => <StateBadge state={state} /> },
  {
    head: 'Result',
    cell: ({ state, refundedNanoUsd }) => (
      <>
        {topUpStateText(state)}
        {refundedNanoUsd !== '0' && (
          <>
            {' '}
            Refunded: <Money nano={refundedNanoUsd} />
          </>
        )}
      </>
    ),
  },
  {
    head: 'Pay',
    cell: ({ checkoutUrl }) =>
      checkoutUrl === null ? (
        '–'
      ) : (
        <a className={buttonClass('plain', 'small')} href={checkoutUrl}>
          Continue payment
        </a>
      ),
  },
];

function TopUps() {
  const topUps = usePages(['money', 'top-ups'], (client, signal) =>
    client.topUps.list({ limit: 10 }, { signal }),
  );
  return (
    <div className="border-line -mx-4 -mb-4 border-t">
      <h3 className="px-4 pt-3">Top-up history</h3>
      <PagedTable
        pages={topUps}
        what="top-ups"
        caption="Top-ups, newest first"
        columns={columns}
        rowKey={({ paymentId }) => paymentId}
        icon={CreditCard}
        empty="No top-ups yet"
        hint="Choose an amount above to add money."
      />
    </div>
  );
}
