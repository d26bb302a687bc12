// How numbers are written, as formatting.py does: widths up, budgets down, intervals outwards.
// A browser test compares the two on thousands of numbers.

/** An end of an interval with so many decimals, rounded to the side that is named. */
export function fixed(value, decimals, up) {
  const { negative, digits, exponent } = decimal(value);
  const shift = exponent + decimals; // value = digits * 10^exponent; we want units of 10^-decimals
  let units = digits;
  if (shift >= 0) {
    units *= 10n ** BigInt(shift);
  } else {
    const unit = 10n ** BigInt(-shift);
    const rest = units % unit;
    units /= unit;
    if (rest > 0n && up !== negative) units += 1n;
  }
  return written(negative && units > 0n, units, decimals);
}

/** A value with so many decimals, rounded; no sign before a zero. */
export function plain(value, decimals) {
  const shown = decimals > 100 ? String(value) : value.toFixed(decimals);
  return Number(shown) === 0 ? shown.replace("-", "") : shown;
}

/** A half-width with a few significant digits, never smaller than it is. */
export function width(value, digits = 4) {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const unit = 10 ** (Math.floor(Math.log10(value)) - digits + 1);
  return general(Math.ceil((value / unit) * (1 - 1e-12)) * unit, digits);
}

/** A count with thousands marked. */
export function count(value) {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** So many of something, in words that agree. */
export function several(number, noun) {
  const ending = noun.endsWith("ry") ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${count(number)} ${number === 1 ? noun : ending}`;
}

/** The confidence 1 - beta, exactly. */
export function percent(beta) {
  const { digits, exponent } = decimal(beta);
  const scale = 10n ** BigInt(Math.max(-exponent, 0));
  const rest = scale * 100n - digits * 100n * 10n ** BigInt(Math.max(exponent, 0));
  return `${trimmed(written(false, rest, Math.max(-exponent, 0)))}%`;
}

/** A share of the budget that is left, rounded down; below a tenth of a per cent said so. */
export function shareLeft(part, whole) {
  if (whole <= 0 || part <= 0) return "0%";
  const share = Math.min((100 * part) / whole, 100);
  if (share < 0.1) return "below 0.1%";
  return `${trimmed(fixed(Number(share.toPrecision(12)), 1, false))}%`;
}

/** A share that is charged or spent, rounded up. */
export function shareSpent(part, whole) {
  if (whole <= 0 || part <= 0) return "0%";
  const share = (100 * part) / whole;
  const decimals = share >= 1 ? 1 : share >= 0.1 ? 2 : 3;
  return `${trimmed(fixed(Number(share.toPrecision(12)), decimals, true))}%`;
}

/** A few significant digits, as Python's g writes them. */
export function general(value, digits = 4) {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const [mantissa, power] = value.toExponential(digits - 1).split("e");
  const exponent = Number(power);
  if (exponent < -4 || exponent >= digits) {
    const sign = exponent < 0 ? "-" : "+";
    return `${trimmed(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  return trimmed(value.toFixed(Math.max(digits - 1 - exponent, 0)));
}

/** A time as people here read it, to the minute. */
export function moment(iso) {
  const time = new Date(iso);
  return time.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/** As many decimals as show two digits of a width, and a thousandth of the range. */
export function decimals(halfWidth, span) {
  return Math.max(0, 1 - Math.floor(Math.log10(halfWidth)), 3 - Math.ceil(Math.log10(span)));
}

/** A number as it is written: its digits and a power of ten, without the noise of binary. */
function decimal(value) {
  const [, sign, whole, part = "", power = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value)) ?? [null, "", "0"];
  return { negative: sign === "-", digits: BigInt(whole + part), exponent: Number(power) - part.length };
}

function written(negative, units, places) {
  const text = units.toString().padStart(places + 1, "0");
  const split = text.length - places;
  const shown = places > 0 ? `${text.slice(0, split)}.${text.slice(split)}` : text;
  return negative ? `-${shown}` : shown;
}

function trimmed(text) {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}
