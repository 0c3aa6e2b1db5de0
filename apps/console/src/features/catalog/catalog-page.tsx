import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { usePerson, useSessionIfAny } from '../../api/session.tsx';
import { CommandHint } from '../../ui/copy.tsx';
import { PageHeader } from '../../ui/page.tsx';
import { EmptyState, Loading, Note, QueryView } from '../../ui/states.tsx';
import { useNow } from '../../ui/time.tsx';
import { OfferGroupCard } from './offer-group-card.tsx';
import { FilterBar } from './filter-bar.tsx';
import { hasActiveFilters, offersCommand } from './filters.ts';
import { Hero } from './hero.tsx';
import {
  ageSeconds,
  filterChoices,
  summariseCatalog,
  groupOffers,
  filterOffers,
  STALE_AFTER_MS,
  type Offer,
} from './offers.ts';
import { SoldOutDialog } from './sold-out-dialog.tsx';
import { isCatalogPrivate, usePublicOffers, useMemberOffers, type Offers } from './use-offers.ts';

/** What can be rented now. Everybody may look; who is signed in sees their own prices. */
export function CatalogPage() {
  const { person } = usePerson();
  const session = useSessionIfAny();
  const isMember = person.state === 'in' && person.memberships.length > 0;
  if (isMember) return session === null ? <Loading what="your organisation" /> : <MemberCatalog />;
  return <PublicCatalog isKnown={person.state !== 'unknown'} />;
}

function MemberCatalog() {
  const offers = useMemberOffers();
  return (
    <>
      <PageHeader
        title="Catalog"
        about="What can be rented now, where, and what it costs your organisation."
      />
      <QueryView query={offers} what="offers">
        {(data) => <Listing data={data} />}
      </QueryView>
    </>
  );
}

/** Asked for at once, so that a visitor does not wait for it; shown when it is known that nobody is signed in. */
function PublicCatalog({ isKnown }: Readonly<{ isKnown: boolean }>) {
  const offers = usePublicOffers(true);
  if (!isKnown) return <Loading what="the catalog" />;
  if (isCatalogPrivate(offers.error)) {
    return (
      <>
        <Hero facts={null} />
        <Note>What can be rented here is shown to members. Sign in to see it.</Note>
      </>
    );
  }
  return (
    <>
      <Hero facts={offers.data === undefined ? null : summariseCatalog(offers.data.offers)} />
      <QueryView query={offers} what="offers">
        {(data) => <Listing data={data} />}
      </QueryView>
    </>
  );
}

function Listing({ data }: Readonly<{ data: Offers }>) {
  const filters = useSearch({ from: '/shell/' });
  const [soldOut, setSoldOut] = useState<Offer | null>(null);
  const shown = filterOffers(data.offers, filters);
  const families = groupOffers(shown, filters.sort ?? 'price');
  return (
    <>
      <FilterBar filters={filters} choices={filterChoices(data.offers)} />
      <DataAge asOfMs={data.asOfMs} shown={shown.length} total={data.offers.length} />
      {families.map((family) => (
        <OfferGroupCard key={family.id} family={family} onSoldOut={setSoldOut} />
      ))}
      {families.length === 0 &&
        (hasActiveFilters(filters) ? (
          <EmptyState title="Nothing matches these filters.">
            Clear some of them to see what else there is.
          </EmptyState>
        ) : (
          <EmptyState title="Nothing is on offer yet.">
            Machines appear here as soon as the operator sells some.
          </EmptyState>
        ))}
      <CommandHint command={offersCommand(filters, shown.length)} />
      {soldOut !== null && <SoldOutDialog offer={soldOut} onClose={() => setSoldOut(null)} />}
    </>
  );
}

/** How old the figures are; what is too old says so in so many words. */
function DataAge({ asOfMs, shown, total }: Readonly<{ asOfMs: number; shown: number; total: number }>) {
  const now = useNow(1_000);
  const age = ageSeconds(asOfMs, now);
  if (now - asOfMs > STALE_AFTER_MS) {
    return (
      <div className="mb-3">
        <Note tone="warn">
          These figures are {age} s old: newer ones could not be had. What is free may have changed; prices
          are checked again before anything is rented.
        </Note>
      </div>
    );
  }
  const count =
    shown === total ? `All ${String(total)} offers` : `${String(shown)} of ${String(total)} offers`;
  return (
    <p className="text-soft mb-3 text-xs">
      {count}, as of {age} s ago.
    </p>
  );
}
