import type { Output, Item } from '@millrace/sdk';
import { usdText } from '@millrace/sdk/text';
import { useState } from 'react';
import { TextField } from '../../../ui/field.tsx';
import { Money } from '../../../ui/money.tsx';
import { ActionButton } from '../common/action-button.tsx';
import { localToInstant } from '../common/local-time.ts';
import { balanceChange, overdraftChange, parseAmount, parseRefund } from './balance-changes.ts';
import { BalanceChangeNote } from './balance-change-note.tsx';

type Organisation = Output<'adminGetOrganisation'>;
type Balance = Output<'adminGetBalance'>;
type Transfer = Item<'adminListTransfers'>;

interface MoneyProps {
  readonly organisation: Organisation;
  readonly balance: Balance;
}

const changes = ['admin', 'money'] as const;

/** Grants credit; with an expiry the credit is promotional and spent first. */
export function GrantButton({ organisation, balance }: MoneyProps) {
  const [amount, setAmount] = useState('');
  const [expires, setExpires] = useState('');
  const read = parseAmount(amount);
  const expiresAt = localToInstant(expires);
  return (
    <ActionButton
      run={(client, reason) =>
        client.admin.organisations.grant({
          organisationId: organisation.id,
          amountNanoUsd: 'nano' in read ? read.nano.toString() : '',
          ...(expiresAt == null ? {} : { expiresAt }),
          reason,
        })
      }
      label="Grant credit"
      title={`Grant credit to ${organisation.name}`}
      needs="admin:money"
      doing="Granting…"
      done={(transfer) => `Granted ${usdText(transfer.amountNanoUsd)}.`}
      changes={changes}
      wait={('issue' in read && read.issue) || (expiresAt === undefined && 'Enter a complete date and time.')}
      onDone={() => setAmount('')}
    >
      <TextField
        label="Amount (USD)"
        inputMode="decimal"
        placeholder="25"
        value={amount}
        issue="amountNanoUsd"
        onValue={setAmount}
      />
      <TextField
        label="Expires (optional)"
        hint="Credit with an expiry date is promotional: spent before paid balance, and lost at expiry."
        type="datetime-local"
        value={expires}
        issue="expiresAt"
        onValue={setExpires}
      />
      {'nano' in read && (
        <BalanceChangeNote change={balanceChange(balance, read.nano)} whose={organisation.name} />
      )}
    </ActionButton>
  );
}

export function AdjustButton({ organisation, balance }: MoneyProps) {
  const [amount, setAmount] = useState('');
  const read = parseAmount(amount, { signed: true });
  const change = 'nano' in read ? balanceChange(balance, read.nano) : null;
  return (
    <ActionButton
      run={(client, reason) =>
        client.admin.organisations.adjust({
          organisationId: organisation.id,
          amountNanoUsd: 'nano' in read ? read.nano.toString() : '',
          reason,
        })
      }
      label="Adjust balance"
      title={`Adjust the balance of ${organisation.name}`}
      needs="admin:money"
      doing="Adjusting…"
      done={(transfer) => `Adjusted by ${usdText(transfer.amountNanoUsd)}.`}
      changes={changes}
      wait={('issue' in read && read.issue) || change?.issue}
      onDone={() => setAmount('')}
    >
      <TextField
        label="Amount (USD)"
        hint="Use a minus to deduct. The balance cannot go below its floor."
        placeholder="-12.50"
        value={amount}
        issue="amountNanoUsd"
        onValue={setAmount}
      />
      {change !== null && <BalanceChangeNote change={change} whose={organisation.name} />}
    </ActionButton>
  );
}

export function OverdraftButton({ organisation, balance }: MoneyProps) {
  const [amount, setAmount] = useState('');
  const change = overdraftChange(balance, amount);
  return (
    <ActionButton
      label="Set overdraft"
      title={`Set overdraft of ${organisation.name}`}
      needs="admin:money"
      doing="Saving…"
      done="Overdraft saved."
      changes={changes}
      wait={change.issue}
      onOpen={() => setAmount(usdText(balance.maxOverdraftNanoUsd).slice(1))}
      run={(client, reason) =>
        client.admin.organisations.setOverdraft({
          organisationId: organisation.id,
          maxOverdraftNanoUsd: (change.nano ?? 0n).toString(),
          reason,
        })
      }
    >
      <TextField
        label="Overdraft (USD)"
        hint={`Currently ${usdText(balance.maxOverdraftNanoUsd)}. Enter 0 to remove it.`}
        inputMode="decimal"
        value={amount}
        issue="maxOverdraftNanoUsd"
        onValue={setAmount}
      />
      {change.nano !== null && <BalanceChangeNote change={change} whose={organisation.name} />}
    </ActionButton>
  );
}

export function RefundButton(props: MoneyProps & { readonly transfer: Transfer }) {
  const { organisation, balance, transfer } = props;
  const [amount, setAmount] = useState('');
  const read = parseRefund(transfer.amountNanoUsd, amount);
  const isWhole = amount.trim() === '';
  return (
    <ActionButton
      run={(client, reason) =>
        client.admin.organisations.refund({
          organisationId: organisation.id,
          transferId: transfer.id,
          ...(isWhole || 'issue' in read ? {} : { amountNanoUsd: read.nano.toString() }),
          reason,
        })
      }
      label="Refund"
      title={`Refund ${transfer.description} to ${organisation.name}`}
      needs="admin:money"
      doing="Refunding…"
      done={(made) => `Refunded ${usdText(made.amountNanoUsd)}.`}
      changes={changes}
      wait={'issue' in read && read.issue}
    >
      <p>
        The charge was <Money nano={-BigInt(transfer.amountNanoUsd)} />. Refunds cannot exceed it in total.
      </p>
      <TextField
        label="Amount (USD, optional)"
        hint="Leave empty to refund the rest."
        inputMode="decimal"
        value={amount}
        issue="amountNanoUsd"
        onValue={setAmount}
      />
      {'nano' in read && (
        <BalanceChangeNote
          change={balanceChange(balance, read.nano)}
          whose={isWhole ? `${organisation.name}, if not refunded before` : organisation.name}
        />
      )}
    </ActionButton>
  );
}

export function ReverseButton(props: MoneyProps & { readonly transfer: Transfer }) {
  const { organisation, balance, transfer } = props;
  const change = balanceChange(balance, -BigInt(transfer.amountNanoUsd));
  return (
    <ActionButton
      label="Reverse"
      title={`Reverse: ${transfer.description}`}
      kind="danger"
      needs="admin:money"
      doing="Reversing…"
      done="Reversed."
      off={transfer.reverses !== null && 'This entry is itself a reversal.'}
      changes={changes}
      run={(client, reason) => client.admin.transfers.reverse({ transferId: transfer.id, reason })}
    >
      <p>
        Adds the exact opposite of this entry: <Money nano={-BigInt(transfer.amountNanoUsd)} signed />. Both
        entries stay in the ledger.
      </p>
      <BalanceChangeNote change={change} whose={organisation.name} />
    </ActionButton>
  );
}

export function UnfreezeButton({ organisation }: Readonly<{ organisation: Organisation }>) {
  return (
    <ActionButton
      label="Unfreeze"
      title={`Unfreeze the account of ${organisation.name}`}
      needs="admin:money"
      doing="Unfreezing…"
      done={`${organisation.name} can start new work again.`}
      changes={changes}
      run={(client, reason) =>
        client.admin.organisations.unfreeze({ organisationId: organisation.id, reason })
      }
    >
      <p>The organisation can start new work again. Do this after the disputed payment is resolved.</p>
    </ActionButton>
  );
}
