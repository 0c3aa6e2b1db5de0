import type { Item } from '@millrace/sdk';
import { CalendarRange } from 'lucide-react';
import { useState } from 'react';
import { SelectField, TextField } from '../../../ui/field.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import { Card } from '../../../ui/page.tsx';
import type { Column } from '../../../ui/table.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { ActionButton } from '../common/action-button.tsx';
import { percentIssue, integerIssue } from '../common/number-issues.ts';

const columns: readonly Column<Item<'adminListReserveOptions'>>[] = [
  {
    head: 'Product',
    main: true,
    cell: ({ gpuType, machineType, region }) =>
      `${gpuType}, ${machineType.replaceAll('-', ' ')}, ${region ?? 'all regions'}`,
  },
  { head: 'Term', right: true, cell: ({ termPeriodDays }) => `${String(termPeriodDays)} days` },
  { head: 'Discount', right: true, cell: ({ discountPercentage }) => `${String(discountPercentage)} %` },
  {
    head: 'Early termination refund',
    right: true,
    cell: ({ earlyTerminationRefundPercentage }) => `${String(earlyTerminationRefundPercentage)} %`,
  },
  { head: 'Created', cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
];

export function ReserveOptions() {
  const pages = usePages(['admin', 'reserve-options'], (client, signal) =>
    client.admin.reserveOptions.list({ limit: 50 }, { signal }),
  );
  return (
    <Card
      title="Reserved terms"
      about="Terms that tenants can commit to for a discount."
      flush
      actions={<AddReserveOption />}
    >
      <PagedTable
        pages={pages}
        what="reserved terms"
        caption="Reserved terms"
        columns={columns}
        icon={CalendarRange}
        empty="No reserved terms yet"
        hint="Add one with the button above."
      />
    </Card>
  );
}

function AddReserveOption() {
  const [machineType, setMachine] = useState<'virtual-machine' | 'bare-metal'>('virtual-machine');
  const [gpuType, setGpu] = useState('h100');
  const [region, setRegion] = useState('');
  const [days, setDays] = useState('30');
  const [discount, setDiscount] = useState('10');
  const [refund, setRefund] = useState('0');
  return (
    <ActionButton
      label="Add term"
      title="Add a reserved term"
      doing="Adding…"
      done="Term added."
      changes={['admin', 'catalog']}
      wait={
        (gpuType.trim() === '' && 'Enter a GPU type.') ||
        integerIssue('The term in days', days, { min: 1, max: 3_650 }) ||
        percentIssue('The discount', discount) ||
        percentIssue('The refund', refund)
      }
      run={(client, reason) =>
        client.admin.reserveOptions.create({
          machineType,
          gpuType: gpuType.trim(),
          region: region.trim() === '' ? null : region.trim(),
          termPeriodDays: Number(days),
          discountPercentage: Number(discount),
          earlyTerminationRefundPercentage: Number(refund),
          reason,
        })
      }
    >
      <p>
        Replaces the current term for the same machine type, GPU, region and duration. Running terms are not
        affected.
      </p>
      <div className="grid grid-cols-1 items-end gap-3 sm:grid-cols-2">
        <TextField label="GPU" value={gpuType} issue="gpuType" onValue={setGpu} />
        <SelectField
          label="Machine"
          value={machineType}
          choices={[
            { value: 'virtual-machine', label: 'virtual machine' },
            { value: 'bare-metal', label: 'bare metal' },
          ]}
          onValue={setMachine}
        />
        <TextField
          label="Region"
          hint="Leave empty for all regions."
          value={region}
          issue="region"
          onValue={setRegion}
        />
        <TextField
          label="Term (days)"
          inputMode="numeric"
          value={days}
          issue="termPeriodDays"
          onValue={setDays}
        />
        <TextField
          label="Discount (%)"
          inputMode="decimal"
          value={discount}
          issue="discountPercentage"
          onValue={setDiscount}
        />
        <TextField
          label="Early termination refund (%)"
          inputMode="decimal"
          value={refund}
          issue="earlyTerminationRefundPercentage"
          onValue={setRefund}
        />
      </div>
    </ActionButton>
  );
}
