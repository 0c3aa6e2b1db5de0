import { Gauge, Plus } from 'lucide-react';
import { useState } from 'react';
import { useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CommandHint } from '../../ui/copy.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { PagedTable, usePages } from '../../ui/list.tsx';
import { Money } from '../../ui/money.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { Timestamp } from '../../ui/time.tsx';
import { isPlaygroundKey } from '../playground/gateway.ts';
import { BudgetForm } from './budget-form.tsx';
import { consequences, periods, budgetProgress, type Budget } from './budgets.ts';

type Open =
  | { readonly what: 'create' }
  | { readonly what: 'edit' | 'delete'; readonly budget: Budget }
  | null;

/** Key names for budgets of one key; without permission to see keys, their ids are shown. */
export function useKeyNames() {
  const { may } = useSession();
  return useApiQuery(
    ['keys', 'names'],
    async (client, signal): Promise<ReadonlyMap<string, string>> => {
      const keys = await client.keys.list({ limit: 200 }, { signal }).all();
      const usable = keys.filter((key) => key.revokedAt === null && !isPlaygroundKey(key));
      return new Map(usable.map(({ id, name }) => [id, name]));
    },
    { enabled: may('api-keys:read') },
  );
}

function budgetColumns(
  names: ReadonlyMap<string, string> | undefined,
  off: string | false,
  open: (dialog: Open) => void,
): readonly Column<Budget>[] {
  return [
    { head: 'Name', main: true, cell: ({ name }) => name },
    {
      head: 'Applies to',
      cell: ({ keyId }) => (keyId === null ? 'whole organisation' : `key ${names?.get(keyId) ?? keyId}`),
    },
    { head: 'Used', cell: (budget) => <ProgressCell budget={budget} /> },
    {
      head: 'Period',
      cell: ({ period, periodEnd }) => (
        <>
          {periods[period]}
          {periodEnd !== null && (
            <span className="text-soft block text-xs">
              resets <Timestamp at={periodEnd} />
            </span>
          )}
        </>
      ),
    },
    {
      head: 'At the limit',
      cell: ({ onExceeded, thresholdsPercent }) => (
        <>
          <Badge>{consequences[onExceeded].label}</Badge>
          <span className="text-soft block text-xs">
            {thresholdsPercent.length === 0
              ? 'no notifications'
              : `notifies at ${thresholdsPercent.map((each) => `${String(each)} %`).join(', ')}`}
          </span>
        </>
      ),
    },
    {
      head: 'Actions',
      cell: (budget) => (
        <span className="inline-flex flex-wrap gap-1">
          <Button
            size="small"
            off={off}
            aria-label={`Edit ${budget.name}`}
            onClick={() => open({ what: 'edit', budget })}
          >
            Edit
          </Button>
          <Button
            size="small"
            kind="danger"
            off={off}
            aria-label={`Delete ${budget.name}`}
            onClick={() => open({ what: 'delete', budget })}
          >
            Delete
          </Button>
        </span>
      ),
    },
  ];
}

export function BudgetsPage() {
  const { mayNot } = useSession();
  const [open, setOpen] = useState<Open>(null);
  const budgets = usePages(['money', 'budgets'], (client, signal) => client.budgets.list({}, { signal }), {
    refetchMs: 15_000,
  });
  const names = useKeyNames();
  const create = (
    <Button
      kind="primary"
      icon={<Plus aria-hidden className="size-4" />}
      off={mayNot('billing:write')}
      onClick={() => setOpen({ what: 'create' })}
    >
      Create budget
    </Button>
  );
  const columns = budgetColumns(names.data, mayNot('billing:write'), setOpen);
  return (
    <>
      <PageHeader
        title="Budgets"
        about="Get notified or stop spending at a limit. A budget counts what is spent after its creation. Periods follow UTC."
        actions={create}
      />
      <Card flush>
        <PagedTable
          pages={budgets}
          what="budgets"
          caption="Budgets and their usage"
          columns={columns}
          icon={Gauge}
          empty="No budgets yet"
          action={create}
          hint="Start with a monthly budget that notifies you at 50 %."
        />
      </Card>
      <CommandHint command="millrace budget create --name monthly --period month --limit 500" />
      {open?.what === 'create' && <BudgetForm names={names.data} onClose={() => setOpen(null)} />}
      {open?.what === 'edit' && (
        <BudgetForm budget={open.budget} names={names.data} onClose={() => setOpen(null)} />
      )}
      {open?.what === 'delete' && <DeleteBudget budget={open.budget} onClose={() => setOpen(null)} />}
    </>
  );
}

const fills = { good: 'bg-good', warn: 'bg-warn', bad: 'bg-bad' } as const;

function ProgressCell({ budget }: Readonly<{ budget: Budget }>) {
  const { percent, width, tone, left } = budgetProgress(budget);
  return (
    <span className="block min-w-40">
      <span
        role="progressbar"
        aria-label={`Usage of ${budget.name}`}
        aria-valuenow={width}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuetext={`${String(percent)} percent`}
        className="bg-raised block h-2 overflow-hidden rounded"
      >
        <span className={`block h-full ${fills[tone]}`} style={{ width: `${String(width)}%` }} />
      </span>
      <span className="mt-1 block text-xs">
        <Money nano={budget.spentNanoUsd} /> of <Money nano={budget.limitNanoUsd} /> ({percent} %)
      </span>
      <span className="text-soft block text-xs">
        {left === 0n ? (
          'used up'
        ) : (
          <>
            remaining: <Money nano={left} />
          </>
        )}
      </span>
    </span>
  );
}

function DeleteBudget({ budget, onClose }: Readonly<{ budget: Budget; onClose: () => void }>) {
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={`Delete budget ${budget.name}?`}
      action="Delete"
      doing="Deleting…"
      run={(client) => client.budgets.delete({ budgetId: budget.id })}
      changes={['money']}
      onDone={(toast) => toast('Deleted', budget.name)}
    >
      <p>
        This budget will no longer notify or stop anything
        {budget.onExceeded === 'notify' ? '.' : ', so new work can start again.'} Your spending stays in the
        ledger, and running resources are not affected.
      </p>
    </ConfirmDialog>
  );
}
