import type { Item } from '@millrace/sdk';
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
    head: 'For',
    main: true,
    cell: ({ gpuType, machineType, region }) =>
      `${gpuType}, ${machineType.replaceAll('-', ' ')}, ${region ?? 'every region'}`,
  },
  { head: 'Term', right: true, cell: ({ termPeriodDays }) => `${String(termPeriodDays)} days` },
  { head: 'Discount', right: true, cell: ({ discountPercentage }) => `${String(discountPercentage)} %` },
  {
    head: 'Refund when ended early',
    right: true,
    cell: ({ earlyTerminationRefundPercentage }) => `${String(earlyTerminationRefundPercentage)} %`,
  },
  { head: 'Since', cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
];

export function ReserveOptions() {
  const pages = usePages(['admin', 'reserve-options'], (client, signal) =>
    client.admin.reserveOptions.list({ limit: 50 }, { signal }),
  );
  return (
    <Card
      title="Reserve options"
      about="Terms that tenants can commit to, for a discount."
      flush
      actions={<AddReserveOption />}
    >
      <PagedTable
        pages={pages}
        what="reserve options"
        caption="Reserve options"
        columns={columns}
        empty="No reserved terms are on offer"
        hint="Offer one with the button above."
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
      label="Offer a term"
      title="Offer a reserved term"
      doing="Offering…"
      done="The term is on offer."
      changes={['admin', 'catalog']}
      wait={
        (gpuType.trim() === '' && 'Say which GPU.') ||
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
        It replaces the option on offer for the same machine, GPU, region and term. Terms that run keep what
        was agreed.
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
          hint="Empty: every region."
          value={region}
          issue="region"
          onValue={setRegion}
        />
        <TextField
          label="Term in days"
          inputMode="numeric"
          value={days}
          issue="termPeriodDays"
          onValue={setDays}
        />
        <TextField
          label="Discount in percent"
          inputMode="decimal"
          value={discount}
          issue="discountPercentage"
          onValue={setDiscount}
        />
        <TextField
          label="Refund in percent when ended early"
          inputMode="decimal"
          value={refund}
          issue="earlyTerminationRefundPercentage"
          onValue={setRefund}
        />
      </div>
    </ActionButton>
  );
}
