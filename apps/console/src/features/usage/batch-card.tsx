import type { Item } from '@millrace/sdk';
import { ChartColumn } from 'lucide-react';
import { CommandHint } from '../../ui/copy.tsx';
import { PagedTable, usePages } from '../../ui/list.tsx';
import { Money } from '../../ui/money.tsx';
import { Card } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { Timestamp } from '../../ui/time.tsx';
import { TextLink } from '../../ui/link.tsx';

type RequestUsage = Item<'listBatchRequests'>;

const columns: readonly Column<RequestUsage>[] = [
  {
    head: 'Request',
    main: true,
    cell: ({ id }) => (
      <TextLink to="/usage" search={{ request: id }} className="font-normal break-all">
        {id}
      </TextLink>
    ),
  },
  { head: 'Time', cell: ({ created_at: at }) => <Timestamp at={at} /> },
  { head: 'Model', cell: ({ model }) => model },
  { head: 'Input tokens', right: true, cell: ({ tokens_prompt: tokens }) => tokens.toLocaleString() },
  { head: 'Output tokens', right: true, cell: ({ tokens_completion: tokens }) => tokens.toLocaleString() },
  { head: 'Cost', right: true, cell: ({ cost_nano_usd: cost }) => <Money nano={String(cost)} /> },
];

/** Requests behind one inference entry of the ledger. */
export function BatchCard({ batchId }: Readonly<{ batchId: string }>) {
  const requests = usePages(['usage', 'batch', batchId], (client, signal) =>
    client.usage.listBatchRequests({ batchId }, { signal }),
  );
  return (
    <Card title="Requests of a ledger entry" about="Their costs add up to the amount of the entry." flush>
      <PagedTable
        pages={requests}
        what="requests"
        caption="Requests of the ledger entry, oldest first"
        columns={columns}
        icon={ChartColumn}
        empty="No requests"
      />
      <CommandHint command={`millrace usage batch ${batchId}`} />
    </Card>
  );
}
