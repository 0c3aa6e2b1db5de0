import type { Output, Item } from '@millrace/sdk';
import { BadgePercent } from 'lucide-react';
import { useState } from 'react';
import { TextField } from '../../../ui/field.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import { Card } from '../../../ui/page.tsx';
import type { Column } from '../../../ui/table.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { ActionButton } from '../common/action-button.tsx';
import { localToInstant } from '../common/local-time.ts';
import { percentIssue } from '../common/number-issues.ts';

type Organisation = Output<'adminGetOrganisation'>;
type Entitlement = Item<'adminListEntitlements'>;

const columns: readonly Column<Entitlement>[] = [
  {
    head: 'Discount',
    main: true,
    cell: ({ maxDiscountPercentage }) => `up to ${String(maxDiscountPercentage)} %`,
  },
  { head: 'GPU', cell: ({ gpuType }) => gpuType ?? 'all GPUs' },
  { head: 'Contract', cell: ({ contractReference }) => contractReference ?? '' },
  { head: 'From', cell: ({ validFrom }) => <Timestamp at={validFrom} /> },
  {
    head: 'Until',
    cell: ({ validUntil }) => (validUntil === null ? 'no end' : <Timestamp at={validUntil} />),
  },
  { head: 'Actions', cell: (entitlement) => <Revoke entitlement={entitlement} /> },
];

function Revoke({ entitlement }: Readonly<{ entitlement: Entitlement }>) {
  const { organisationId, id: entitlementId } = entitlement;
  return (
    <ActionButton
      label="Revoke"
      title="Revoke discount"
      kind="danger"
      needs="admin:money"
      doing="Revoking…"
      done="Discount revoked."
      run={(client, reason) => client.admin.entitlements.revoke({ organisationId, entitlementId, reason })}
    >
      <p>
        New rentals no longer get up to {entitlement.maxDiscountPercentage} % off. Running rentals keep their
        price.
      </p>
    </ActionButton>
  );
}

export function Discounts({ organisation }: Readonly<{ organisation: Organisation }>) {
  const { id: organisationId, name } = organisation;
  const pages = usePages(['admin', 'organisation', organisationId, 'entitlements'], (client, signal) =>
    client.admin.entitlements.list({ organisationId, limit: 50 }, { signal }),
  );
  return (
    <Card title="Discounts" flush actions={<Entitle organisation={organisation} />}>
      <PagedTable
        pages={pages}
        what="discounts"
        caption={`Discounts of ${name}`}
        columns={columns}
        icon={BadgePercent}
        empty={`${name} pays list prices`}
        hint="Add a discount with the button above."
      />
    </Card>
  );
}

function Entitle({ organisation }: Readonly<{ organisation: Organisation }>) {
  const { id: organisationId, name } = organisation;
  const [percent, setPercent] = useState('');
  const [gpuType, setGpu] = useState('');
  const [contract, setContract] = useState('');
  const [until, setUntil] = useState('');
  const validUntil = localToInstant(until);
  return (
    <ActionButton
      label="Add discount"
      title={`Add a discount for ${name}`}
      needs="admin:money"
      doing="Adding…"
      done="Discount added."
      wait={
        percentIssue('The discount', percent) ||
        (validUntil === undefined && 'Enter a complete date and time.')
      }
      run={(client, reason) =>
        client.admin.entitlements.create({
          organisationId,
          maxDiscountPercentage: Number(percent),
          ...(gpuType.trim() === '' ? {} : { gpuType: gpuType.trim() }),
          ...(contract.trim() === '' ? {} : { contractReference: contract.trim() }),
          ...(validUntil == null ? {} : { validUntil }),
          reason,
        })
      }
    >
      <TextField
        label="Maximum discount (%)"
        inputMode="decimal"
        value={percent}
        issue="maxDiscountPercentage"
        onValue={setPercent}
      />
      <TextField
        label="GPU"
        hint="Leave empty for all GPUs."
        value={gpuType}
        issue="gpuType"
        onValue={setGpu}
      />
      <TextField
        label="Contract (optional)"
        value={contract}
        maxLength={100}
        issue="contractReference"
        onValue={setContract}
      />
      <TextField
        label="Until (optional)"
        type="datetime-local"
        value={until}
        issue="validUntil"
        onValue={setUntil}
      />
    </ActionButton>
  );
}
