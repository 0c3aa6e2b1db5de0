import { useSession } from '../../api/session.tsx';
import { Money } from '../../ui/money.tsx';
import { Problem } from '../../ui/states.tsx';
import type { CallableModel } from './playground-page.tsx';
import { useModelPrice } from './use-gateway.ts';

/** What the model costs this organisation, by whatever it is sold by. */
export function ModelPrice({ model }: Readonly<{ model: CallableModel }>) {
  const { mode } = useSession().place;
  const { data: price, error, refetch } = useModelPrice(model.id);
  if (mode === 'test') return <p className="text-soft text-xs">Free: in test mode an imitation answers.</p>;
  if (error !== null)
    return <Problem error={error} doing="find out the price" retry={() => void refetch()} />;
  if (price === undefined) return <p className="text-soft text-xs">Looking up the price…</p>;
  const lines: readonly (readonly [string, number | null])[] = [
    ['a million tokens in', price.prompt_nano_usd_per_million_tokens],
    ['a million cached', price.cached_prompt_nano_usd_per_million_tokens],
    ['a million out', price.completion_nano_usd_per_million_tokens],
    ['an image of 1024 x 1024 in 25 steps', price.image_nano_usd],
    ['a character', price.character_nano_usd],
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
              for {what}
            </li>
          ),
      )}
    </ul>
  );
}
