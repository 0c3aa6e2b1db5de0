/** Colours of the series, as class and CSS variable names; more series repeat them with dashed lines. */
export const seriesColours = [
  { name: '--color-chart-1', swatch: 'bg-chart-1' },
  { name: '--color-chart-2', swatch: 'bg-chart-2' },
  { name: '--color-chart-3', swatch: 'bg-chart-3' },
  { name: '--color-chart-4', swatch: 'bg-chart-4' },
  { name: '--color-chart-5', swatch: 'bg-chart-5' },
  { name: '--color-chart-6', swatch: 'bg-chart-6' },
  { name: '--color-chart-7', swatch: 'bg-chart-7' },
  { name: '--color-chart-8', swatch: 'bg-chart-8' },
] as const;

export function swatchClass(index: number): string {
  return seriesColours[index % seriesColours.length]?.swatch ?? '';
}

/** Values of the style sheet that a canvas needs. */
export interface Palette {
  readonly text: string;
  readonly grid: string;
  readonly font: string;
  readonly series: readonly string[];
}

/** Canvas does not support light-dark(), so the values are read from an element. */
export function readPalette(place: HTMLElement): Palette {
  // A new element for each colour: while the theme changes, browsers return the same colour for one element.
  const colour = (name: string): string => {
    const probe = document.createElement('span');
    probe.style.color = `var(${name})`;
    place.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  };
  return {
    text: colour('--color-soft'),
    grid: colour('--color-line'),
    font: `12px ${getComputedStyle(place).fontFamily}`,
    series: seriesColours.map(({ name }) => colour(name)),
  };
}

/** Calls back when the theme changes or the font arrives. */
export function onPaletteChange(redraw: () => void): () => void {
  let isWatching = true;
  const theme = new MutationObserver(redraw);
  theme.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
  if (document.fonts.status !== 'loaded') void document.fonts.ready.then(() => isWatching && redraw());
  return () => {
    isWatching = false;
    theme.disconnect();
  };
}
