import { percentOf } from '@millrace/sdk/text';
import { Network } from 'lucide-react';
import { LinkButton, TextLink } from '../../../ui/link.tsx';
import { Card } from '../../../ui/page.tsx';
import { EmptyState } from '../../../ui/states.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import type { AdminOverview } from './operator-attention.ts';

type GpuUse = AdminOverview['gpus'][number];

const columns: readonly Column<GpuUse>[] = [
  { head: 'GPU', main: true, cell: ({ gpuType }) => gpuType.toUpperCase() },
  {
    head: 'Utilisation',
    cell: (use) => (
      <div className="flex items-center gap-2">
        <UseBar use={use} />
        <span className="tabular-nums">{rentedPercent(use)} %</span>
      </div>
    ),
  },
  { head: 'Rented', right: true, cell: ({ rented, total }) => `${String(rented)} of ${String(total)}` },
  { head: 'Free', right: true, cell: ({ free }) => free },
  { head: 'Unavailable', right: true, cell: ({ unavailable }) => unavailable },
];

const rentedPercent = ({ rented, total }: GpuUse): number => percentOf(BigInt(rented), BigInt(total));

/** Rented, free and unavailable as parts of all GPUs; the table has the numbers. */
function UseBar({ use }: Readonly<{ use: GpuUse }>) {
  return (
    <span aria-hidden className="bg-raised flex h-2 w-24 overflow-hidden rounded-full">
      <span className="bg-accent" style={{ flexGrow: use.rented }} />
      <span style={{ flexGrow: use.free }} />
      <span className="bg-warn" style={{ flexGrow: use.unavailable }} />
    </span>
  );
}

export function GpuUseCard({ gpus }: Readonly<{ gpus: AdminOverview['gpus'] }>) {
  return (
    <Card
      title="Utilisation by GPU type"
      about="GPUs of live mode. The bar begins with rented GPUs and ends with unavailable ones."
      actions={<TextLink to="/operator/fleet">Fleet</TextLink>}
      flush
    >
      {gpus.length === 0 ? (
        <EmptyState
          icon={Network}
          title="No GPUs yet"
          action={<LinkButton to="/operator/providers">Add cluster</LinkButton>}
        >
          The GPUs of a cluster appear here as soon as its engine responds.
        </EmptyState>
      ) : (
        <Table
          caption="Utilisation by GPU type"
          columns={columns}
          rows={gpus}
          rowKey={({ gpuType }) => gpuType}
        />
      )}
    </Card>
  );
}
