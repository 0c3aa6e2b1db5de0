import type { Item } from '@millrace/sdk';
import { ReceiptText } from 'lucide-react';
import { CommandHint } from '../../ui/copy.tsx';
import { PagedTable, usePages } from '../../ui/list.tsx';
import { monthText } from '../../ui/logic/day-text.ts';
import { Money } from '../../ui/money.tsx';
import { Card } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { TextLink } from '../../ui/link.tsx';

const columns: readonly Column<Item<'supplierListStatements'>>[] = [
  {
    head: 'Month (UTC)',
    main: true,
    cell: ({ id, periodStart }) => (
      <TextLink to="/supplier/statements/$statementId" params={{ statementId: id }}>
        {monthText(periodStart)}
      </TextLink>
    ),
  },
  { head: 'Paid by tenants', right: true, cell: ({ grossNanoUsd }) => <Money nano={grossNanoUsd} /> },
  { head: 'Fee', right: true, cell: ({ feeNanoUsd }) => <Money nano={feeNanoUsd} /> },
  { head: 'Earned', right: true, cell: ({ netNanoUsd }) => <Money nano={netNanoUsd} /> },
];

export function Statements() {
  const pages = usePages(['supplier', 'statements'], (client, signal) =>
    client.supplier.statements.list({ limit: 24 }, { signal }),
  );
  return (
    <>
      <Card flush>
        <PagedTable
          pages={pages}
          what="statements"
          caption="Statements"
          columns={columns}
          icon={ReceiptText}
          empty="No statements yet"
          hint="You get the first statement after your first month."
        />
      </Card>
      <CommandHint command="millrace supplier statement list" />
    </>
  );
}
