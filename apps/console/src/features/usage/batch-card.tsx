import type { Item } from '@millrace/sdk';
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
  { head: 'When', cell: ({ created_at: at }) => <Timestamp at={at} /> },
  { head: 'Model', cell: ({ model }) => model },
  { head: 'Tokens in', right: true, cell: ({ tokens_prompt: tokens }) => tokens.toLocaleString() },
  { head: 'Tokens out', right: true, cell: ({ tokens_completion: tokens }) => tokens.toLocaleString() },
  { head: 'Cost', right: true, cell: ({ cost_nano_usd: cost }) => <Money nano={String(cost)} /> },
];

/** The requests that one ledger line of inference sums. */
export function BatchCard({ batchId }: Readonly<{ batchId: string }>) {
  const requests = usePages(['usage', 'batch', batchId], (client, signal) =>
    client.usage.listBatchRequests({ batchId }, { signal }),
  );
  return (
    <Card title="Requests of a ledger line" about="Their costs sum to the amount of the line." flush>
      <PagedTable
        pages={requests}
        what="requests"
        caption="Requests of the ledger line, oldest first"
        columns={columns}
        empty="This batch has no requests."
      />
      <CommandHint command={`millrace usage batch ${batchId}`} />
    </Card>
  );
}
