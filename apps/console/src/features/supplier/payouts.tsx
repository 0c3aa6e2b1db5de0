import type { Item } from '@millrace/sdk';
import { parseUsd, usdText } from '@millrace/sdk/text';
import { BadgeDollarSign } from 'lucide-react';
import { useState } from 'react';
import { fieldIssue } from '../../api/problem.ts';
import { useApiMutation } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { StateBadge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CommandHint } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { PagedTable, usePages } from '../../ui/list.tsx';
import { Money } from '../../ui/money.tsx';
import { Card } from '../../ui/page.tsx';
import { Note, Problem } from '../../ui/states.tsx';
import type { Column } from '../../ui/table.tsx';
import { Timestamp } from '../../ui/time.tsx';
import { useToast } from '../../ui/toast.tsx';
import { payoutIssue } from './payout-issue.ts';
import { Form, FormButtons } from '../../ui/form.tsx';

const columns: readonly Column<Item<'supplierListPayouts'>>[] = [
  { head: 'Requested', main: true, cell: ({ requestedAt }) => <Timestamp at={requestedAt} /> },
  { head: 'Amount', right: true, cell: ({ amountNanoUsd }) => <Money nano={amountNanoUsd} /> },
  {
    head: 'Status',
    cell: ({ status, reason }) => (
      <>
        <StateBadge state={status} />
        {reason !== null && <span className="text-soft block text-xs">{reason}</span>}
      </>
    ),
  },
  {
    head: 'Settled',
    cell: ({ settledAt }) => (settledAt === null ? 'not yet' : <Timestamp at={settledAt} />),
  },
  { head: 'Reference', cell: ({ reference }) => reference ?? '' },
];

export function Payouts() {
  const pages = usePages(
    ['supplier', 'payouts'],
    (client, signal) => client.supplier.payouts.list({ limit: 50 }, { signal }),
    { refetchMs: 10_000 },
  );
  return (
    <>
      <Card flush>
        <PagedTable
          pages={pages}
          what="payouts"
          caption="Payouts"
          columns={columns}
          icon={BadgeDollarSign}
          empty="No payouts yet"
          hint="Request your payable earnings at any time. The operator pays them and adds a reference."
        />
      </Card>
      <CommandHint command="millrace supplier payout list" />
    </>
  );
}

export function RequestPayout({ payableNanoUsd }: Readonly<{ payableNanoUsd: string | undefined }>) {
  const { mayNot } = useSession();
  const [isOpen, setOpen] = useState(false);
  const none =
    payableNanoUsd === undefined
      ? 'Loading your payable earnings…'
      : BigInt(payableNanoUsd) <= 0n && 'You have no payable earnings.';
  return (
    <>
      <Button kind="primary" off={mayNot('supplier:write') || none} onClick={() => setOpen(true)}>
        Request payout
      </Button>
      <Dialog title="Request payout" open={isOpen} onClose={() => setOpen(false)}>
        {isOpen && payableNanoUsd !== undefined && (
          <RequestForm payableNanoUsd={payableNanoUsd} onClose={() => setOpen(false)} />
        )}
      </Dialog>
    </>
  );
}

function RequestForm({ payableNanoUsd, onClose }: Readonly<{ payableNanoUsd: string; onClose: () => void }>) {
  const toast = useToast();
  const [amount, setAmount] = useState(() => usdText(payableNanoUsd).slice(1));
  const request = useApiMutation(
    (client, amountNanoUsd: string) => client.supplier.payouts.request({ amountNanoUsd }),
    {
      changes: ['supplier'],
      onSuccess: (payout) => {
        toast('Requested', `${usdText(payout.amountNanoUsd)} is held until the operator pays it.`);
        onClose();
      },
    },
  );
  const issue = payoutIssue(amount, payableNanoUsd);
  const nano = parseUsd(amount);
  return (
    <Form
      className="flex flex-col gap-3"
      onSend={() => {
        if (issue === false && nano !== null) request.mutate(nano.toString());
      }}
    >
      <p>
        <Money nano={payableNanoUsd} /> is payable. The requested amount is held until the operator pays or
        rejects it.
      </p>
      <TextField
        label="Amount (USD)"
        inputMode="decimal"
        value={amount}
        error={fieldIssue(request.error, 'amountNanoUsd')}
        onValue={setAmount}
      />
      {issue === false && nano !== null && (
        <Note>
          Remaining: <Money nano={BigInt(payableNanoUsd) - nano} />
        </Note>
      )}
      {request.error !== null && <Problem error={request.error} />}
      <FormButtons onClose={onClose} busy={request.isPending && 'Requesting…'} off={issue}>
        Request payout
      </FormButtons>
    </Form>
  );
}
