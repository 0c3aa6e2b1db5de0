import type { Item } from '@millrace/sdk';
import { getRouteApi } from '@tanstack/react-router';
import { ClipboardList } from 'lucide-react';
import { useState } from 'react';
import { useInstallation } from '../../../api/session.tsx';
import { StateBadge } from '../../../ui/badge.tsx';
import { CommandHint } from '../../../ui/copy.tsx';
import { FilterField, TextField } from '../../../ui/field.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import { Card, PageHeader } from '../../../ui/page.tsx';
import type { Column } from '../../../ui/table.tsx';
import { Tabs } from '../../../ui/tabs.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { ActionButton } from '../common/action-button.tsx';
import { percentIssue } from '../common/number-issues.ts';
import { operatorPage } from '../common/operator-page.tsx';
import { supplierStatuses } from '../common/search-params.ts';
import { SupplierMachines } from './supplier-machines.tsx';
import { SupplierPayouts } from './supplier-payouts.tsx';
import { TextLink } from '../../../ui/link.tsx';

const route = getRouteApi('/shell/inside/operator/suppliers');
const tabs = ['suppliers', 'machines', 'payouts'] as const;

type Supplier = Item<'adminListSuppliers'>;

export const SuppliersPage = operatorPage('Suppliers', Suppliers);

function Suppliers() {
  const { tab = 'suppliers', ...search } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <>
      <PageHeader title="Suppliers" about="Suppliers of the marketplace, their machines and payouts." />
      <Tabs
        label="View"
        open={tab}
        onOpen={(id) => void navigate({ search: { tab: tabs.find((each) => each === id) } })}
        tabs={[
          { id: 'suppliers', label: 'Suppliers', content: () => <SupplierList /> },
          {
            id: 'machines',
            label: 'Machines',
            content: () => (
              <SupplierMachines
                approval={search.approval}
                supplierId={search.supplier}
                onApproval={(approval) => void navigate({ search: (before) => ({ ...before, approval }) })}
              />
            ),
          },
          {
            id: 'payouts',
            label: 'Payouts',
            content: () => (
              <SupplierPayouts
                status={search.payout}
                onStatus={(payout) => void navigate({ search: (before) => ({ ...before, payout }) })}
              />
            ),
          },
        ]}
      />
    </>
  );
}

function Approve({ supplier }: Readonly<{ supplier: Supplier }>) {
  const { id: supplierId, name, status } = supplier;
  const { data: installation } = useInstallation();
  const usual = installation?.supplierTerms.feePercentage ?? null;
  const [fee, setFee] = useState('');
  const label = status === 'approved' ? 'Change fee' : 'Approve';
  return (
    <ActionButton
      label={label}
      title={`${label}: ${name}`}
      doing="Approving…"
      done={`${name} was approved with a fee of ${fee} %.`}
      changes={['admin', 'marketplace']}
      wait={percentIssue('The fee', fee)}
      onOpen={() => setFee(String(status === 'applied' ? (usual ?? '') : supplier.feePercentage))}
      run={(client, reason) =>
        client.admin.suppliers.approve({ supplierId, feePercentage: Number(fee), reason })
      }
    >
      <p>
        {status === 'suspended'
          ? 'The suspension ends, and its machines are listed again.'
          : 'Its owners and admins can add machines and set prices.'}
      </p>
      <TextField
        label="Fee (%)"
        hint={`Share of each charge that you keep. Applies to new rentals.${usual === null ? '' : ` Applicants were shown ${String(usual)} %.`}`}
        inputMode="decimal"
        value={fee}
        issue="feePercentage"
        onValue={setFee}
      />
    </ActionButton>
  );
}

function Reject({ supplier }: Readonly<{ supplier: Supplier }>) {
  const { id: supplierId, name, status } = supplier;
  const label = status === 'approved' ? 'Suspend' : 'Reject';
  return (
    <ActionButton
      label={label}
      title={`${label}: ${name}`}
      kind="danger"
      doing={`${label}ing…`}
      done={`${name} was ${status === 'approved' ? 'suspended' : 'rejected'}.`}
      off={(status === 'rejected' || status === 'suspended') && `The supplier is already ${status}.`}
      changes={['admin', 'marketplace']}
      run={(client, reason) => client.admin.suppliers.reject({ supplierId, reason })}
    >
      <p>
        {status === 'approved'
          ? 'Its machines can no longer be rented. Running instances continue and keep earning.'
          : 'The application is rejected.'}{' '}
        The supplier sees the reason.
      </p>
    </ActionButton>
  );
}

const columns: readonly Column<Supplier>[] = [
  {
    head: 'Supplier',
    main: true,
    cell: ({ name, organisationId, about }) => (
      <>
        <TextLink to="/operator/organisations/$organisationId" params={{ organisationId }}>
          {name}
        </TextLink>
        {about !== '' && <span className="text-soft block text-xs font-normal">{about}</span>}
      </>
    ),
  },
  {
    head: 'Status',
    cell: ({ status, statusReason }) => (
      <>
        <StateBadge state={status} />
        {statusReason !== null && <span className="text-soft block text-xs">{statusReason}</span>}
      </>
    ),
  },
  {
    head: 'Fee',
    right: true,
    cell: ({ status, feePercentage }) => (status === 'applied' ? 'not set' : `${String(feePercentage)} %`),
  },
  { head: 'Applied', cell: ({ appliedAt }) => <Timestamp at={appliedAt} /> },
  {
    head: 'Machines',
    cell: ({ id }) => (
      <TextLink to="/operator/suppliers" search={{ tab: 'machines', supplier: id }}>
        machines
      </TextLink>
    ),
  },
  {
    head: 'Actions',
    cell: (supplier) => (
      <span className="flex flex-wrap justify-end gap-1 md:justify-start">
        <Approve supplier={supplier} />
        <Reject supplier={supplier} />
      </span>
    ),
  },
];

function SupplierList() {
  const { status } = route.useSearch();
  const navigate = route.useNavigate();
  const filter = status === undefined ? {} : { status };
  const pages = usePages(['admin', 'suppliers', filter], (client, signal) =>
    client.admin.suppliers.list({ ...filter, limit: 50 }, { signal }),
  );
  return (
    <>
      <Card
        title="Suppliers"
        flush
        actions={
          <FilterField
            label="Status"
            hideLabel
            value={status}
            all="All"
            choices={supplierStatuses}
            onValue={(next) => void navigate({ search: (before) => ({ ...before, status: next }) })}
          />
        }
      >
        <PagedTable
          pages={pages}
          what="suppliers"
          caption="Suppliers"
          columns={columns}
          icon={ClipboardList}
          empty="No suppliers yet"
          hint="Organisation owners apply under “Supplier” in their console."
        />
      </Card>
      <CommandHint command="millrace admin supplier list" />
    </>
  );
}
