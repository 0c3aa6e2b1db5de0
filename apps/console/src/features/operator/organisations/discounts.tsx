import type { Output, Item } from '@millrace/sdk';
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
  { head: 'On', cell: ({ gpuType }) => gpuType ?? 'every GPU' },
  { head: 'Contract', cell: ({ contractReference }) => contractReference ?? '' },
  { head: 'From', cell: ({ validFrom }) => <Timestamp at={validFrom} /> },
  { head: 'Until', cell: ({ validUntil }) => (validUntil === null ? 'open' : <Timestamp at={validUntil} />) },
  { head: 'Act', cell: (entitlement) => <Revoke entitlement={entitlement} /> },
];

function Revoke({ entitlement }: Readonly<{ entitlement: Entitlement }>) {
  const { organisationId, id: entitlementId } = entitlement;
  return (
    <ActionButton
      label="Withdraw"
      title="Withdraw the discount"
      kind="danger"
      needs="admin:money"
      doing="Withdrawing…"
      done="The discount is withdrawn."
      run={(client, reason) => client.admin.entitlements.revoke({ organisationId, entitlementId, reason })}
    >
      <p>
        New rentals no longer get up to {entitlement.maxDiscountPercentage} % off. What runs keeps its price.
      </p>
    </ActionButton>
  );
}

/** Discounts that an organisation is entitled to. */
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
        empty={`${name} pays list prices`}
        hint="Entitle it to a discount with the button above."
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
      label="Entitle to a discount"
      title={`Entitle ${name} to a discount`}
      needs="admin:money"
      doing="Entitling…"
      done={`${name} is entitled to it.`}
      wait={percentIssue('The discount', percent) || (validUntil === undefined && 'The end is no moment.')}
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
        label="At most, in percent"
        inputMode="decimal"
        value={percent}
        issue="maxDiscountPercentage"
        onValue={setPercent}
      />
      <TextField label="GPU" hint="Empty: every GPU." value={gpuType} issue="gpuType" onValue={setGpu} />
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
