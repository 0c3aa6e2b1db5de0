import { getRouteApi, Link } from '@tanstack/react-router';
import { Tags } from 'lucide-react';
import { nowMs } from '../../../api/clock.ts';
import { useApiQuery } from '../../../api/queries.ts';
import { Badge } from '../../../ui/badge.tsx';
import { CommandHint } from '../../../ui/copy.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import { Money } from '../../../ui/money.tsx';
import { Card, PageHeader } from '../../../ui/page.tsx';
import { EmptyState, Note, QueryView } from '../../../ui/states.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import { Tabs } from '../../../ui/tabs.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { ActionButton } from '../common/action-button.tsx';
import { AddPrice } from './add-price.tsx';
import { operatorPage } from '../common/operator-page.tsx';
import { priceText, subjectText, unitText, type Price } from './price-form.ts';
import { ReserveOptions } from './reserve-options.tsx';
import { TextLink } from '../../../ui/link.tsx';

const route = getRouteApi('/shell/inside/operator/prices');
const tabs = ['now', 'coming', 'all', 'reserve'] as const;

export const PricesPage = operatorPage('Prices', Prices);

/** Current prices, reloaded every minute and after changes. */
function usePricesNow() {
  return useApiQuery(
    ['admin', 'prices', 'now'],
    (client, signal) =>
      client.admin.prices.list({ at: new Date(nowMs()).toISOString(), limit: 200 }, { signal }).all(),
    { refetchMs: 60_000 },
  );
}

function Prices() {
  const { tab = 'now', organisation } = route.useSearch();
  const navigate = route.useNavigate();
  const now = usePricesNow();
  return (
    <>
      <PageHeader
        title="Prices"
        about="Prices are append-only. Running rentals keep the price they started with."
        actions={<AddPrice now={now.data ?? []} organisationId={organisation ?? null} />}
      />
      {organisation !== undefined && (
        <div className="mb-4">
          <Note>
            Contract prices of <code>{organisation}</code> only.{' '}
            <TextLink to="/operator/prices" search={{}}>
              Show all
            </TextLink>
          </Note>
        </div>
      )}
      <Tabs
        label="Prices"
        open={tab}
        onOpen={(id) => {
          const next = tabs.find((each) => each === id);
          void navigate({ search: (before) => ({ ...before, tab: next }) });
        }}
        tabs={[
          {
            id: 'now',
            label: 'Current',
            content: () => (
              <Card flush>
                <QueryView query={now} what="prices">
                  {(prices) => (
                    <PriceTable prices={ofOrganisation(prices, organisation)} none="No current prices" />
                  )}
                </QueryView>
              </Card>
            ),
          },
          { id: 'coming', label: 'Scheduled', content: () => <UpcomingPrices organisation={organisation} /> },
          { id: 'all', label: 'History', content: () => <AllPrices organisation={organisation} /> },
          { id: 'reserve', label: 'Reserved terms', content: () => <ReserveOptions /> },
        ]}
      />
      <CommandHint command="millrace admin price list" />
    </>
  );
}

const ofOrganisation = (prices: readonly Price[], organisation: string | undefined): readonly Price[] =>
  organisation === undefined ? prices : prices.filter((price) => price.organisationId === organisation);

function EndPrice({ price }: Readonly<{ price: Price }>) {
  const isOver = price.validUntil !== null && Date.parse(price.validUntil) <= nowMs();
  return (
    <ActionButton
      label="End price"
      title={`End price of ${subjectText(price.subject)}`}
      kind="danger"
      doing="Ending…"
      done="Price ended."
      off={isOver && 'The price has already ended.'}
      changes={['admin', 'catalog']}
      run={(client, reason) => client.admin.prices.end({ priceId: price.id, reason })}
    >
      <p>
        New rentals no longer get {priceText(price)}. The previous or a less specific price applies again.
        Without one, the product is not available. Running rentals keep their price.
      </p>
    </ActionButton>
  );
}

const columns: readonly Column<Price>[] = [
  {
    head: 'Product',
    main: true,
    cell: ({ subject, organisationId }) => (
      <>
        {subjectText(subject)}{' '}
        {organisationId !== null && (
          <Link to="/operator/organisations/$organisationId" params={{ organisationId }}>
            <Badge tone="info">contract</Badge>
          </Link>
        )}
      </>
    ),
  },
  {
    head: 'Price',
    right: true,
    cell: ({ priceNanoUsd, unit }) => (
      <>
        <Money nano={priceNanoUsd} />
        <span className="text-soft block text-xs">{unitText(unit)}</span>
      </>
    ),
  },
  { head: 'From', cell: ({ validFrom }) => <Timestamp at={validFrom} /> },
  {
    head: 'Until',
    cell: ({ validUntil }) => (validUntil === null ? 'no end' : <Timestamp at={validUntil} />),
  },
  { head: 'Actions', cell: (price) => <EndPrice price={price} /> },
];

function PriceTable({ prices, none }: Readonly<{ prices: readonly Price[]; none: string }>) {
  if (prices.length === 0) {
    return (
      <EmptyState icon={Tags} title={none}>
        Set a price with the button above.
      </EmptyState>
    );
  }
  return <Table caption="Prices" columns={columns} rows={prices} />;
}

function UpcomingPrices({ organisation }: Readonly<{ organisation: string | undefined }>) {
  const all = useApiQuery(['admin', 'prices', 'all', organisation], (client, signal) =>
    client.admin.prices
      .list(
        { limit: 200, ...(organisation === undefined ? {} : { organisationId: organisation }) },
        { signal },
      )
      .all(),
  );
  return (
    <Card flush>
      <QueryView query={all} what="prices">
        {(prices) => (
          <PriceTable
            prices={prices
              .filter(({ validFrom }) => Date.parse(validFrom) > nowMs())
              .toSorted((a, b) => a.validFrom.localeCompare(b.validFrom))}
            none="No scheduled price changes"
          />
        )}
      </QueryView>
    </Card>
  );
}

function AllPrices({ organisation }: Readonly<{ organisation: string | undefined }>) {
  const pages = usePages(['admin', 'prices', 'pages', organisation], (client, signal) =>
    client.admin.prices.list(
      { limit: 50, ...(organisation === undefined ? {} : { organisationId: organisation }) },
      { signal },
    ),
  );
  return (
    <Card flush>
      <PagedTable
        pages={pages}
        what="entries"
        caption="Price history"
        columns={columns}
        icon={Tags}
        empty="No prices yet"
        hint="Set a price with the button above."
      />
    </Card>
  );
}
