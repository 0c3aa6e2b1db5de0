import { TextLink } from '../../../ui/link.tsx';
import { Note } from '../../../ui/states.tsx';
import { Money } from '../../../ui/money.tsx';
import { modelHealth } from '../common/model-health.ts';
import {
  machineTypeText,
  modelUnitLabels,
  priceText,
  shownPrice,
  type Price,
  type PriceForm,
} from './price-form.ts';
import { offerPlaces } from './tenant-view.ts';
import type { PriceSources } from './use-price-sources.ts';

type NewPrice = Pick<Price, 'subject' | 'unit' | 'priceNanoUsd'>;

interface PreviewProps {
  readonly form: PriceForm;
  /** Empty while the form is incomplete. */
  readonly prices: readonly NewPrice[];
  /** The current list price of each of them. */
  readonly replaced: readonly (Price | undefined)[];
  readonly now: readonly Price[];
  readonly sources: PriceSources | undefined;
  readonly isContract: boolean;
}

/** Offers as tenants will see them once the prices are saved. */
export function TenantPreview({ form, prices, replaced, now, sources, isContract }: PreviewProps) {
  const [first] = prices;
  return (
    <section aria-label="Tenant view" className="border-line rounded-md border p-3">
      <h3>Tenants will see</h3>
      {first === undefined ? (
        <p className="text-soft">Enter a price to see it as tenants will.</p>
      ) : (
        <div className="mt-1 flex flex-col gap-2">
          {form.kind === 'gpu' && <MachineOffers form={form} price={first} now={now} sources={sources} />}
          {form.kind === 'model' && <ModelOffer form={form} prices={prices} sources={sources} />}
          {(form.kind === 'volume' || form.kind === 'disk') && (
            <p>
              {form.kind === 'volume' ? 'Volumes' : 'Disks of stopped rentals'} in{' '}
              {form.region === '' ? 'all regions' : form.region}: <Amount price={first} />
            </p>
          )}
        </div>
      )}
      <p className="text-soft mt-2 text-xs">
        {isContract
          ? 'Applies only to this organisation and overrides list prices. '
          : prices.length > 0 && `${replacedText(replaced)} `}
        Running rentals keep their price.
      </p>
    </section>
  );
}

function replacedText(replaced: readonly (Price | undefined)[]): string {
  const before = replaced.filter((price) => price !== undefined);
  return before.length === 0 ? 'There is no price yet.' : `Replaces ${before.map(priceText).join(', ')}.`;
}

function Amount({ price }: Readonly<{ price: Pick<Price, 'priceNanoUsd' | 'unit'> }>) {
  const { nano, per } = shownPrice(price);
  return (
    <span className="font-medium">
      <Money nano={nano} /> <span className="text-soft font-normal">{per}</span>
    </span>
  );
}

interface OffersProps extends Pick<PreviewProps, 'form' | 'now' | 'sources'> {
  readonly price: NewPrice;
}

function MachineOffers({ form, price, now, sources }: OffersProps) {
  if (sources === undefined) return <p className="text-soft">Reading the fleet…</p>;
  const places = offerPlaces(form, sources, now);
  const product = `${form.gpuType.toUpperCase()} as ${machineTypeText(form.machineType)}`;
  if (places.length === 0) {
    return (
      <Note tone="warn">
        No offer yet: no ready node in live mode has {product}
        {form.region !== '' && ` in ${form.region}`}. The price applies as soon as one is{' '}
        <TextLink to="/operator/providers">connected</TextLink>.
      </Note>
    );
  }
  return (
    <ul className="flex flex-col gap-1">
      {places.map(({ region, network, gpus, free, instead }) => (
        <li key={`${region} ${network}`} className="flex flex-wrap justify-between gap-x-3">
          <span>
            {form.gpuType.toUpperCase()} in {region}{' '}
            <span className="text-soft text-xs">
              {network}, {free} of {gpus} GPUs available
            </span>
          </span>
          <span>
            <Amount price={instead ?? price} />
            {instead !== null && (
              <span className="text-soft block text-xs">keeps its more specific price</span>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}

function ModelOffer({ form, prices, sources }: Pick<PreviewProps, 'form' | 'prices' | 'sources'>) {
  const deployments = (sources?.deployments ?? []).filter(({ model }) => model === form.model);
  const { words, tone } = modelHealth(deployments);
  return (
    <>
      <p className="font-medium break-all">{form.model}</p>
      <ul>
        {prices.map((price) => (
          <li key={price.subject.kind === 'model' ? price.subject.unit : price.unit}>
            <Amount price={price} />{' '}
            <span className="text-soft">
              {price.subject.kind === 'model' && modelUnitLabels[price.subject.unit]}
            </span>
          </li>
        ))}
      </ul>
      {sources !== undefined && tone === 'bad' && (
        <Note tone="warn">
          Requests fail until an engine serves the model ({words}).{' '}
          <TextLink to="/operator/models" search={{ model: form.model }}>
            Register an engine
          </TextLink>
        </Note>
      )}
    </>
  );
}
