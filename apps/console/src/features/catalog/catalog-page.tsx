import { useSearch } from '@tanstack/react-router';
import { Cpu, SearchX } from 'lucide-react';
import { useState } from 'react';
import { usePerson, useSessionIfAny } from '../../api/session.tsx';
import { CommandHint } from '../../ui/copy.tsx';
import { PageHeader } from '../../ui/page.tsx';
import { PageSkeleton } from '../../ui/skeleton.tsx';
import { EmptyState, Note, QueryView } from '../../ui/states.tsx';
import { useNow } from '../../ui/time.tsx';
import { OfferGroupCard } from './offer-group-card.tsx';
import { FilterBar } from './filter-bar.tsx';
import { hasActiveFilters, offersCommand, parseFilters } from './filters.ts';
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

/** Public catalog; members see the prices of their organisation. */
export function CatalogPage() {
  const { person } = usePerson();
  const session = useSessionIfAny();
  const isMember = person.state === 'in' && person.memberships.length > 0;
  if (isMember) return session === null ? <PageSkeleton what="your organisation" title /> : <MemberCatalog />;
  return <PublicCatalog isKnown={person.state !== 'unknown'} />;
}

function MemberCatalog() {
  const offers = useMemberOffers();
  return (
    <>
      <PageHeader title="Catalog" about="GPUs available now, by region, at your organisation's prices." />
      <QueryView query={offers} what="offers">
        {(data) => <Listing data={data} />}
      </QueryView>
    </>
  );
}

/** Loads in parallel with the session check; shown once the user is known to be signed out. */
function PublicCatalog({ isKnown }: Readonly<{ isKnown: boolean }>) {
  const offers = usePublicOffers(true);
  if (!isKnown) return <PageSkeleton what="the catalog" title />;
  if (isCatalogPrivate(offers.error)) {
    return (
      <>
        <Hero facts={null} />
        <Note>The catalog is visible to members only. Sign in to see it.</Note>
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
  const filters = parseFilters(useSearch({ strict: false }));
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
          <EmptyState icon={SearchX} title="No offers match">
            Remove a filter to see more offers.
          </EmptyState>
        ) : (
          <EmptyState icon={Cpu} title="No offers yet">
            Machines appear here when the operator adds them.
          </EmptyState>
        ))}
      <CommandHint command={offersCommand(filters, shown.length)} />
      {soldOut !== null && <SoldOutDialog offer={soldOut} onClose={() => setSoldOut(null)} />}
    </>
  );
}

/** Shows the age of the figures, with a warning if they are stale. */
function DataAge({ asOfMs, shown, total }: Readonly<{ asOfMs: number; shown: number; total: number }>) {
  const now = useNow(1_000);
  const age = ageSeconds(asOfMs, now);
  if (now - asOfMs > STALE_AFTER_MS) {
    return (
      <div className="mb-3">
        <Note tone="warn">
          This data is {age} s old because it could not be refreshed. Availability may have changed. Prices
          are checked again before you rent.
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
