import { Link } from '@tanstack/react-router';
import { Badge } from '../../ui/badge.tsx';
import { LiveCost, Money, PerHour } from '../../ui/money.tsx';
import { Card } from '../../ui/page.tsx';
import { selectionForOffer } from './selection.ts';
import {
  gpuMemoryText,
  hardwareText,
  isFree,
  machineTypeText,
  type OfferGroup,
  type Offer,
  type OfferLocation,
} from './offers.ts';
import { networkText } from '../rentals/rental.ts';

function freeText(gpusFree: number): string {
  return gpusFree === 1 ? '1 GPU available' : `${String(gpusFree)} GPUs available`;
}

/** Offers of one GPU type and machine type: regions, sizes, prices and availability. */
export function OfferGroupCard({
  family,
  onSoldOut,
}: Readonly<{
  family: OfferGroup;
  onSoldOut: (offer: Offer) => void;
}>) {
  const {
    gpuType,
    machineType,
    formFactors,
    lowestPerGpuNano,
    lowestLivePerGpuNano,
    gpusFree,
    regionCount,
    spots,
  } = family;
  const memory = gpuMemoryText(gpuType);
  const form = formFactors.map((each) => each.toUpperCase()).join(', ');
  return (
    <Card
      flush
      title={`${gpuType.toUpperCase()} · ${machineTypeText(machineType)}`}
      about={[
        ...(memory === null ? [] : [`${memory} of memory per GPU`]),
        form,
        regionCount === 1 ? 'one region' : `${String(regionCount)} regions`,
        ...(machineType === 'bare-metal' ? ['whole nodes, not shared'] : []),
      ].join(' · ')}
      actions={
        <div className="flex flex-wrap items-center gap-3">
          <span>
            <span className="text-soft">from </span>
            <Money nano={lowestPerGpuNano} />
            <span className="text-soft"> per GPU-hour</span>
            <LiveCost nano={lowestLivePerGpuNano ?? undefined} />
          </span>
          <Badge tone={gpusFree > 0 ? 'good' : 'warn'}>
            {gpusFree > 0 ? freeText(gpusFree) : 'sold out'}
          </Badge>
        </div>
      }
    >
      <ul>
        {spots.map((spot) => (
          <li
            key={`${spot.region} ${spot.network}`}
            className="border-line grid gap-3 border-b px-4 py-3 last:border-b-0 md:grid-cols-[13rem_1fr]"
          >
            <LocationHead spot={spot} />
            <ul className="grid grid-cols-2 gap-2 sm:grid-cols-[repeat(auto-fill,minmax(10.5rem,1fr))]">
              {spot.sizes.map((offer) => (
                <li key={offer.gpuCount}>
                  {isFree(offer) ? (
                    <FreeTile offer={offer} />
                  ) : (
                    <SoldOutTile offer={offer} onSoldOut={onSoldOut} />
                  )}
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function LocationHead({ spot }: Readonly<{ spot: OfferLocation }>) {
  const { region, network, perGpuNano, livePerGpuNano, gpusFree, isOpen } = spot;
  return (
    <div className="min-w-0">
      <h3 className="break-words">{region}</h3>
      <p className="text-soft text-xs">{networkText(network)}</p>
      <p className="mt-1">
        <Money nano={perGpuNano} /> <span className="text-soft text-xs">per GPU-hour</span>
        <LiveCost nano={livePerGpuNano ?? undefined} />
      </p>
      <p className="mt-1">
        {gpusFree > 0 ? (
          <Badge tone="good">{freeText(gpusFree)}</Badge>
        ) : (
          <Badge tone="warn">{isOpen ? 'sold out' : 'not accepting new rentals'}</Badge>
        )}
      </p>
    </div>
  );
}

const tile = 'flex h-full w-full flex-col items-start gap-0.5 rounded-md border px-3 py-2 text-left';

function TileFacts({ offer }: Readonly<{ offer: Offer }>) {
  return (
    <>
      <span className="font-medium">{offer.gpuCount === 1 ? '1 GPU' : `${String(offer.gpuCount)} GPUs`}</span>
      <span className="text-base font-semibold">
        <PerHour nano={offer.pricePerHourNanoUsd} />
        <LiveCost nano={offer.livePricePerHourNanoUsd} perHour />
      </span>
      <span className="text-soft text-xs">{hardwareText(offer)}</span>
    </>
  );
}

function FreeTile({ offer }: Readonly<{ offer: Offer }>) {
  const { gpuCount, gpuType, region, totalAvailable } = offer;
  return (
    <Link
      to="/rent"
      search={selectionForOffer(offer)}
      className={`${tile} border-line hover:border-accent hover:bg-accent-soft group`}
    >
      <span className="sr-only">
        Rent {gpuCount} × {gpuType.toUpperCase()} in {region}:
      </span>
      <TileFacts offer={offer} />
      <span className="mt-auto flex w-full justify-between gap-2 pt-1 text-xs font-medium">
        <span className="text-good">
          {totalAvailable === 1 ? '1 available' : `${String(totalAvailable)} available`}
        </span>
        <span aria-hidden className="text-accent">
          Rent →
        </span>
      </span>
    </Link>
  );
}

function SoldOutTile({ offer, onSoldOut }: Readonly<{ offer: Offer; onSoldOut: (offer: Offer) => void }>) {
  return (
    <button
      type="button"
      onClick={() => onSoldOut(offer)}
      className={`${tile} border-line bg-raised hover:border-field border-dashed`}
    >
      <TileFacts offer={offer} />
      <span className="text-warn mt-auto pt-1 text-xs font-medium">
        {offer.enabled ? 'Sold out: see options' : 'Closed: see options'}
      </span>
      <span className="sr-only">
        for {offer.gpuCount} × {offer.gpuType.toUpperCase()} in {offer.region}
      </span>
    </button>
  );
}
