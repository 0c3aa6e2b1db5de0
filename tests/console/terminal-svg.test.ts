import { expect, it } from 'vitest';
import { terminalSvg } from './terminal-svg.ts';

it('terminalSvg shows each screen once, in order, and escapes its text', () => {
  const svg = terminalSvg([
    { text: '$ one', seconds: 1 },
    { text: 'two <b> & three', seconds: 3 },
  ]);
  expect(svg).toContain('0%{opacity:0}0.00%{opacity:1}25.00%{opacity:0}');
  expect(svg).toContain('25.00%{opacity:1}100.00%{opacity:0}');
  expect(svg).toContain('two &lt;b&gt; &amp; three');
  expect(svg).toContain('class="p" xml:space="preserve">$ one');
});

it('terminalSvg shows only the last screen without animations', () => {
  const svg = terminalSvg([
    { text: 'a', seconds: 1 },
    { text: 'b', seconds: 1 },
  ]);
  expect(svg).toContain('.f0{opacity:0;');
  expect(svg).toContain('.f1{opacity:1;');
  expect(svg).toContain('prefers-reduced-motion:reduce){g{animation:none!important}}');
});
