import { Example, Section } from './section.tsx';

// Complete class names, because Tailwind finds classes by their text.
const backgrounds: readonly (readonly [name: string, className: string])[] = [
  ['ground', 'bg-ground text-ink'],
  ['surface', 'bg-surface text-ink'],
  ['raised', 'bg-raised text-soft'],
  ['ink', 'bg-ink text-ground'],
  ['accent', 'bg-accent text-on-accent'],
  ['accent-strong', 'bg-accent-strong text-on-accent'],
  ['accent-soft', 'bg-accent-soft text-accent-strong'],
  ['good-soft', 'bg-good-soft text-good'],
  ['info-soft', 'bg-info-soft text-info'],
  ['warn-soft', 'bg-warn-soft text-warn'],
  ['bad-soft', 'bg-bad-soft text-bad'],
];
const fills: readonly (readonly [name: string, className: string])[] = [
  ['line', 'bg-line'],
  ['field', 'bg-field'],
  ['chart-1', 'bg-chart-1'],
  ['chart-2', 'bg-chart-2'],
  ['chart-3', 'bg-chart-3'],
  ['chart-4', 'bg-chart-4'],
  ['chart-5', 'bg-chart-5'],
  ['chart-6', 'bg-chart-6'],
  ['chart-7', 'bg-chart-7'],
  ['chart-8', 'bg-chart-8'],
];
const sizes: readonly (readonly [name: string, className: string, use: string])[] = [
  ['text-2xl', 'text-2xl font-semibold', 'Page title'],
  ['text-xl', 'text-xl font-semibold', 'Key figure 42.5 %'],
  ['text-lg', 'text-lg', 'Introduction'],
  ['text-base', 'text-base font-semibold', 'Section title'],
  ['text-sm', 'text-sm', 'Body text and tables 0123456789'],
  ['text-xs', 'text-soft text-xs', 'Notes and table heads'],
];
const spaces: readonly (readonly [name: string, className: string])[] = [
  ['card', 'w-card'],
  ['block', 'w-block'],
  ['section', 'w-section'],
];

export function Tokens() {
  return (
    <Section title="Tokens">
      <Example name="Background with its text colour">
        <ul className="grid grid-cols-2 gap-2 sm:grid-cols-4">
          {backgrounds.map(([name, className]) => (
            <li key={name} className={`border-line rounded-md border px-3 py-4 ${className}`}>
              {name}
            </li>
          ))}
        </ul>
      </Example>
      <Example name="Lines and chart series">
        <ul className="grid grid-cols-2 gap-2 sm:grid-cols-5">
          {fills.map(([name, className]) => (
            <li key={name} className="flex items-center gap-2">
              <span className={`size-6 rounded-sm ${className}`} /> {name}
            </li>
          ))}
        </ul>
      </Example>
      <Example name="Type scale">
        <ul className="flex flex-col gap-2">
          {sizes.map(([name, className, use]) => (
            <li key={name} className="flex flex-wrap items-baseline gap-x-4">
              <code className="text-soft w-24">{name}</code>
              <span className={className}>{use}</span>
            </li>
          ))}
        </ul>
      </Example>
      <Example name="Tabular figures">
        <div className="tabular-nums">
          <p>1,111.11</p>
          <p>8,888.88</p>
        </div>
      </Example>
      <Example name="Space">
        <ul className="flex flex-col gap-1">
          {spaces.map(([name, className]) => (
            <li key={name} className="flex items-center gap-3">
              <code className="text-soft w-24">{name}</code>
              <span className={`bg-accent h-3 ${className}`} />
            </li>
          ))}
        </ul>
      </Example>
      <Example name="Radius and shadow">
        <div className="flex flex-wrap gap-4">
          <span className="border-line bg-surface rounded-sm border px-4 py-3">radius sm</span>
          <span className="border-line bg-surface rounded-md border px-4 py-3 shadow-sm">
            radius md, shadow sm
          </span>
          <span className="border-line bg-surface rounded-lg border px-4 py-3 shadow-lg">
            radius lg, shadow lg
          </span>
          <span className="border-line bg-surface rounded-full border px-4 py-3 shadow-xl">
            radius full, shadow xl
          </span>
        </div>
      </Example>
    </Section>
  );
}
