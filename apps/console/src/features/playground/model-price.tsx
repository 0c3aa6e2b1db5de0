import type { Output } from '@millrace/sdk';
import { useSession } from '../../api/session.tsx';
import { Money } from '../../ui/money.tsx';
import { Problem } from '../../ui/states.tsx';
import type { CallableModel } from './playground-page.tsx';
import { useModelPrice } from './use-gateway.ts';

export function ModelPrice({ model }: Readonly<{ model: CallableModel }>) {
  const { mode } = useSession().place;
  const { data, error, refetch } = useModelPrice(model.id);
  if (error !== null) return <Problem error={error} doing="get the price" retry={() => void refetch()} />;
  if (data === undefined) return <p className="text-soft text-xs">Loading the price…</p>;
  if (mode === 'test') {
    return (
      <div className="text-soft text-xs">
        <p>Free: test mode simulates responses.{data.live !== undefined && ' In live mode:'}</p>
        {data.live !== undefined && <PriceList price={data.live} />}
      </div>
    );
  }
  return <PriceList price={data} />;
}

function PriceList({ price }: Readonly<{ price: NonNullable<Output<'getModelPrice'>['live']> }>) {
  const lines: readonly (readonly [string, number | null])[] = [
    ['per million input tokens', price.prompt_nano_usd_per_million_tokens],
    ['per million cached input tokens', price.cached_prompt_nano_usd_per_million_tokens],
    ['per million output tokens', price.completion_nano_usd_per_million_tokens],
    ['per image (1024 x 1024, 25 steps)', price.image_nano_usd],
    ['per character', price.character_nano_usd],
  ];
  return (
    <ul className="text-soft text-xs">
      {lines.map(
        ([what, nano]) =>
          nano !== null && (
            <li key={what}>
              <span className="text-ink">
                <Money nano={String(nano)} />
              </span>{' '}
              {what}
            </li>
          ),
      )}
    </ul>
  );
}
